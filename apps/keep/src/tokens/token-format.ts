/**
 * @module
 * API tokens: their format, creation, validation and revocation. A token's value is returned once, when it is created;
 * only its hash is stored. Guarantees that a mistyped token is rejected without a database query, and that nothing stored
 * or displayed reveals part of a value. Imported by `routes.ts` and by the code that authenticates requests.
 */
import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

declare const isToken: unique symbol;

/** `sk-svc-`, 43 random characters and a checksum of 6; created only in this file. */
export type Token = string & { readonly [isToken]: true };

const prefix = "sk-svc-";
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62 ** 43 is just above 2 ** 256. */
const randomCharacters = 43;
/** 62 ** 6 is above 2 ** 32. */
const checksumCharacters = 6;
const pattern = /^sk-svc-[0-9A-Za-z]{49}$/u;
/** The largest multiple of 62 that fits a byte; higher bytes are rejected to avoid modulo bias. */
const fairBytes = 248;

export function generateToken(): Token {
  let characters = "";
  while (characters.length < randomCharacters) {
    for (const byte of randomBytes(2 * randomCharacters)) {
      if (byte < fairBytes && characters.length < randomCharacters) characters += alphabet[byte % 62];
    }
  }
  const unchecked = prefix + characters;
  // Built in the format that the brand stands for.
  return (unchecked + checksumOf(unchecked)) as Token;
}

/** Undefined unless the text is a well-formed token; the checksum detects any single wrong character. */
export function parseToken(text: string): Token | undefined {
  if (!pattern.test(text)) return undefined;
  const unchecked = text.slice(0, -checksumCharacters);
  // Both checks passed, so the brand holds.
  return text.endsWith(checksumOf(unchecked)) ? (text as Token) : undefined;
}

/** The stored form. A token has 256 random bits, so a slow password hash would add nothing. */
export function hashToken(token: Token): Buffer {
  return createHash("sha256").update(token).digest();
}

/** A short identifier for display: computable from the token, but not the other way round. */
export function fingerprintOf(tokenHash: Uint8Array): string {
  return createHash("sha256").update(tokenHash).digest("hex").slice(0, 8);
}

function checksumOf(text: string): string {
  let rest = crc32(text);
  let characters = "";
  for (let digit = 0; digit < checksumCharacters; digit += 1) {
    characters = (alphabet[rest % 62] ?? "") + characters;
    rest = Math.floor(rest / 62);
  }
  return characters;
}
