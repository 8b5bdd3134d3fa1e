import { randomBytes } from "node:crypto";
import { hashKey } from "../access/keys.ts";
import type { StoredKey } from "./key-store.ts";

export type KeySettings = Omit<StoredKey, "id" | "sha256" | "createdAt" | "revokedAt">;

/** A key with its secret, which is not stored and cannot be shown again. */
export type CreatedKey = { readonly key: StoredKey; readonly secret: string };

const secretBytes = 32;
const idBytes = 8;

export function createKey(settings: KeySettings): CreatedKey {
  const { secret, sha256 } = createSecret();
  const id = `key_${randomBytes(idBytes).toString("hex")}`;
  return { secret, key: { ...settings, id, sha256, createdAt: Date.now() } };
}

/** The same key with another secret; the old one is no longer accepted. */
export function rotateKey(key: StoredKey): CreatedKey {
  const { secret, sha256 } = createSecret();
  return { secret, key: { ...key, sha256 } };
}

/** The prefix lets secret scanners find keys. */
function createSecret(): { readonly secret: string; readonly sha256: string } {
  const secret = `hearth_${randomBytes(secretBytes).toString("base64url")}`;
  return { secret, sha256: Buffer.from(hashKey(secret)).toString("hex") };
}
