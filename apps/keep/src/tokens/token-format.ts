/**
 * @module
 * Tokens that programs carry: their form, and what of them is stored. A token is shown once, when it is made; from then
 * on there is its hash. Promises that a mistyped token is found out without asking the database, and that nothing kept
 * or shown gives a part of one away. Imported by whoever mints or checks tokens.
 */
import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

declare const isToken: unique symbol;

/** `sk-svc-`, 43 random characters and 6 of a checksum; only this file makes one. */
export type Token = string & { readonly [isToken]: true };

const prefix = "sk-svc-";
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62 ** 43 is just above 2 ** 256. */
const randomCharacters = 43;
/** 62 ** 6 is above 2 ** 32. */
const checksumCharacters = 6;
const pattern = /^sk-svc-[0-9A-Za-z]{49}$/u;
/** The largest multiple of 62 in a byte: what is above it would make some characters likelier than others. */
const fairBytes = 248;

export function makeToken(): Token {
  let characters = "";
  while (characters.length < randomCharacters) {
    for (const byte of randomBytes(2 * randomCharacters)) {
      if (byte < fairBytes && characters.length < randomCharacters) characters += alphabet[byte % 62];
    }
  }
  const unchecked = prefix + characters;
  // Made of exactly what the brand promises.
  return (unchecked + checksumOf(unchecked)) as Token;
}

/** Undefined when the text is no token; a single wrong character is always noticed. */
export function readToken(text: string): Token | undefined {
  if (!pattern.test(text)) return undefined;
  const unchecked = text.slice(0, -checksumCharacters);
  // The two checks are what the brand promises.
  return text.endsWith(checksumOf(unchecked)) ? (text as Token) : undefined;
}

/** What is stored. The token has 256 random bits, so a slow hash would protect nothing more. */
export function hashToken(token: Token): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Names a token to people. Whoever has the token can work it out, and nobody the other way round. */
export function fingerprintOf(tokenHash: Uint8Array): string {
  return createHash("sha256").update(tokenHash).digest("hex").slice(0, 8);
}

function checksumOf(text: string): string {
  let rest = crc32(text);
  let characters = "";
  for (let place = 0; place < checksumCharacters; place += 1) {
    characters = (alphabet[rest % 62] ?? "") + characters;
    rest = Math.floor(rest / 62);
  }
  return characters;
}
