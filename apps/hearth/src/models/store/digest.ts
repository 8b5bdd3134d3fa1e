import { createHash } from "node:crypto";
import { modelFailure } from "../model-failure.ts";

declare const isDigest: unique symbol;

/** `sha256:` and 64 hexadecimal digits in lower case; only this file makes one, so whoever holds one may trust it. */
export type Digest = string & { readonly [isDigest]: true };

const pattern = /^sha256:[0-9a-f]{64}$/u;
const longestQuote = 100;

export function parseDigest(text: string): Digest {
  const digest = readDigest(text);
  if (digest === undefined)
    throw modelFailure({ kind: "digest-invalid", digest: text.slice(0, longestQuote) });
  return digest;
}

/** Undefined when the text is no digest. */
export function readDigest(text: string): Digest | undefined {
  // The pattern is what the brand promises.
  return pattern.test(text) ? (text as Digest) : undefined;
}

export function digestOf(content: Uint8Array | string): Digest {
  return toDigest(createHash("sha256").update(content).digest());
}

export function toDigest(hash: Buffer): Digest {
  return parseDigest(`sha256:${hash.toString("hex")}`);
}
