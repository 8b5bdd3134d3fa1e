import { createHash } from "node:crypto";
import { modelFailure } from "../model-failure.ts";

declare const isDigest: unique symbol;

/** `sha256:` and 64 lower-case hexadecimal digits. Only this file and the store's schema create values of this type. */
export type Digest = string & { readonly [isDigest]: true };

const pattern = /^sha256:[0-9a-f]{64}$/u;
const maxQuotedLength = 100;

export function parseDigest(text: string): Digest {
  const digest = tryParseDigest(text);
  if (digest === undefined)
    throw modelFailure({ kind: "digest-invalid", digest: text.slice(0, maxQuotedLength) });
  return digest;
}

/** Undefined when the text is not a digest. */
export function tryParseDigest(text: string): Digest | undefined {
  // The pattern guarantees what the branded type promises.
  return pattern.test(text) ? (text as Digest) : undefined;
}

/** Without the `sha256:` prefix, because clients show the first characters of a digest. */
export function bareDigest(digest: string): string {
  return digest.replace(/^sha256:/u, "");
}

export function digestOf(content: Uint8Array | string): Digest {
  return digestFromHash(createHash("sha256").update(content).digest());
}

export function digestFromHash(hash: Buffer): Digest {
  return parseDigest(`sha256:${hash.toString("hex")}`);
}
