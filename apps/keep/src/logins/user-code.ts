import { randomInt } from "node:crypto";

/** Consonants, so that no code is a word (RFC 8628 section 6.1). */
const letters = "BCDFGHJKLMNPQRSTVWXZ";
const codeLetters = 8;

/** 20 to the power of 8 codes, e.g. BCDF-GHJK; guesses are limited per address, and a code expires after ten minutes. */
export function generateUserCode(): string {
  const code = Array.from({ length: codeLetters }, () => letters[randomInt(letters.length)]).join("");
  return `${code.slice(0, codeLetters / 2)}-${code.slice(codeLetters / 2)}`;
}

/** As typed: hyphens, blanks and case do not matter. */
export function normalizeUserCode(text: string): string {
  const code = text.replaceAll(/[\s-]/gu, "").toUpperCase();
  return `${code.slice(0, codeLetters / 2)}-${code.slice(codeLetters / 2)}`;
}
