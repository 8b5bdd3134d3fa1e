import { createHash, timingSafeEqual } from "node:crypto";

/** An accepted API key. Only its hash is stored. */
export type AccessKey = { readonly name: string; readonly sha256: Uint8Array };

export function accessKey(name: string, key: string): AccessKey {
  return { name, sha256: hash(key) };
}

/** Constant time, whether or not and which key matches. */
export function findKey(keys: readonly AccessKey[], credential: string): AccessKey | undefined {
  const candidate = hash(credential);
  let found: AccessKey | undefined;
  for (const key of keys) {
    if (timingSafeEqual(key.sha256, candidate)) found = key;
  }
  return found;
}

function hash(key: string): Uint8Array {
  return createHash("sha256").update(key, "utf8").digest();
}
