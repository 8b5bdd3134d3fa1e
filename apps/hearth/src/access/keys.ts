import { createHash, timingSafeEqual } from "node:crypto";

/** A key that is accepted. Only its hash is kept. */
export type AccessKey = { readonly name: string; readonly sha256: Uint8Array };

export function accessKey(name: string, key: string): AccessKey {
  return { name, sha256: hash(key) };
}

/** Takes as long for a wrong key as for a right one, whichever of them it is. */
export function findKey(keys: readonly AccessKey[], credential: string): AccessKey | undefined {
  const shown = hash(credential);
  let found: AccessKey | undefined;
  for (const key of keys) {
    if (timingSafeEqual(key.sha256, shown)) found = key;
  }
  return found;
}

function hash(key: string): Uint8Array {
  return createHash("sha256").update(key, "utf8").digest();
}
