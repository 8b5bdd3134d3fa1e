import { createHash, randomBytes } from "node:crypto";

/** 256 random bits in base64url, usable in a URL or cookie without escaping. */
export function generateRandomToken(): string {
  return randomBytes(32).toString("base64url");
}

/** Whether the text has the format of `generateRandomToken`; anything else is rejected without a database query. */
export function isRandomToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/u.test(text);
}

/** The stored form; lookups are by this hash. */
export function hashText(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** The S256 code challenge of RFC 7636. */
export function pkceChallenge(verifier: string): string {
  return hashText(verifier).toString("base64url");
}
