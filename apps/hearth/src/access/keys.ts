import { createHash, timingSafeEqual } from "node:crypto";
import type { KeyRole } from "@hearth-and-keep/hearth-contract";

/** An accepted API key. Only its hash is stored. */
export type AccessKey = {
  readonly name: string;
  readonly role: KeyRole;
  readonly sha256: Uint8Array;
  /** Another machine could guess it. */
  readonly isWeak: boolean;
};

const minCharacters = 16;
const minDifferentCharacters = 8;

/** A server's only key is an admin key. */
export function accessKey(name: string, key: string, role: KeyRole = "admin"): AccessKey {
  const isWeak = key.length < minCharacters || new Set(key).size < minDifferentCharacters;
  return { name, role, sha256: hashKey(key), isWeak };
}

/** Constant time, whether or not and which key matches. */
export function findKey(keys: readonly AccessKey[], credential: string): AccessKey | undefined {
  const candidate = hashKey(credential);
  let found: AccessKey | undefined;
  for (const key of keys) {
    if (timingSafeEqual(key.sha256, candidate)) found = key;
  }
  return found;
}

export function hashKey(key: string): Uint8Array {
  return createHash("sha256").update(key, "utf8").digest();
}
