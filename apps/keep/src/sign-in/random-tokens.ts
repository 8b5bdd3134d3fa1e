import { createHash, randomBytes } from "node:crypto";

/** 256 bits that nobody can guess, as text that goes into an address or a cookie as it is. */
export function makeSecretText(): string {
  return randomBytes(32).toString("base64url");
}

/** What `makeSecretText` gives; anything else is not worth a question to the database. */
export function isSecretText(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/u.test(text);
}

/** What is stored of such a text, and looked for by. */
export function hashText(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** RFC 7636, S256. */
export function challengeFor(verifier: string): string {
  return hashText(verifier).toString("base64url");
}
