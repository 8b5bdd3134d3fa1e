import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import {
  type AssociatedData,
  computeMac,
  decrypt,
  deriveMacKey,
  encrypt,
  generateKey,
} from "@hearth-and-keep/envelope-crypto";
import type { Database } from "../database/open-database.ts";
import type { KeyWrapper } from "./key-wrapper.ts";
import { insertServerKey, listServerKeys, type ServerKeyRow } from "./queries.ts";

/** The server's own keys: one encrypts data outside vaults, one signs audit checkpoints. */
export type ServerKeys = {
  encrypt(plaintext: Uint8Array, associatedData: AssociatedData): Buffer;
  decrypt(ciphertext: Uint8Array, associatedData: AssociatedData): Buffer;
  /** A keyed 32-byte fingerprint; guesses of the input cannot be tested without the key. */
  fingerprint(associatedData: AssociatedData): Buffer;
  /** Ed25519. */
  sign(message: Uint8Array): { readonly signature: Buffer; readonly keyVersion: number };
  /** Public keys of all signing key versions, in SPKI format. */
  publicKeys(): ReadonlyMap<number, Buffer>;
};

export function serverKeyAssociatedData(
  purpose: ServerKeyRow["purpose"],
  version: number,
  fingerprint: string,
): AssociatedData {
  return ["server-key", purpose, version, fingerprint];
}

/** Creates missing keys. Unwrapping them also verifies at start-up that the key-encryption key is correct. */
export async function openServerKeys(
  database: Pick<Database, "query">,
  wrapper: KeyWrapper,
): Promise<ServerKeys> {
  for (const purpose of ["sealing", "signing"] as const) await createFirstKey(database, wrapper, purpose);
  const rows = await listServerKeys(database);
  const unwrapped = await Promise.all(
    rows.map(async ({ purpose, version, kekFingerprint, wrapped }) => ({
      purpose,
      version,
      key: await wrapper.unwrap(
        wrapped,
        serverKeyAssociatedData(purpose, version, kekFingerprint),
        kekFingerprint,
      ),
    })),
  );
  const newestKey = (requiredPurpose: ServerKeyRow["purpose"]) => {
    const found = unwrapped.findLast(({ purpose }) => purpose === requiredPurpose);
    if (found === undefined) throw new Error(`No server key for ${requiredPurpose}`);
    return found;
  };
  const encryptionKey = newestKey("sealing").key;
  const macKey = deriveMacKey(encryptionKey);
  const { key, version } = newestKey("signing");
  const signing = signingKey(key);
  return {
    encrypt: (plaintext, associatedData) => encrypt(plaintext, encryptionKey, associatedData),
    decrypt: (ciphertext, associatedData) => decrypt(ciphertext, encryptionKey, associatedData),
    fingerprint: (associatedData) => computeMac(macKey, associatedData),
    sign: (message) => ({ signature: sign(null, message, signing), keyVersion: version }),
    publicKeys: publicKeysOf(rows),
  };
}

export function publicKeysOf(rows: readonly ServerKeyRow[]): ServerKeys["publicKeys"] {
  const keys = rows.flatMap(({ version, publicKey }) =>
    publicKey === null ? [] : [[version, publicKey] as const],
  );
  return () => new Map(keys);
}

/** Whether the configured key unwraps the stored keys; another node may have rewrapped them since the start. */
export async function canUnwrapServerKeys(
  database: Pick<Database, "query">,
  wrapper: KeyWrapper,
): Promise<boolean> {
  const rows = await listServerKeys(database);
  const unwrapped = await Promise.allSettled(
    rows.map(({ purpose, version, kekFingerprint, wrapped }) =>
      wrapper.unwrap(wrapped, serverKeyAssociatedData(purpose, version, kekFingerprint), kekFingerprint),
    ),
  );
  return unwrapped.length > 0 && unwrapped.every(({ status }) => status === "fulfilled");
}

async function createFirstKey(
  database: Pick<Database, "query">,
  wrapper: KeyWrapper,
  purpose: ServerKeyRow["purpose"],
): Promise<void> {
  const key = generateKey();
  const { fingerprint } = wrapper;
  const wrapped = await wrapper.wrap(key, serverKeyAssociatedData(purpose, 1, fingerprint));
  const publicKey =
    purpose === "signing" ? createPublicKey(signingKey(key)).export({ type: "spki", format: "der" }) : null;
  await insertServerKey(database, { purpose, version: 1, kekFingerprint: fingerprint, wrapped, publicKey });
}

/** The PKCS #8 encoding of an Ed25519 key is this prefix followed by its 32 bytes (RFC 8410). */
const ed25519Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

function signingKey(seed: KeyObject): KeyObject {
  const encoded = Buffer.concat([ed25519Prefix, seed.export()]);
  const key = createPrivateKey({ key: encoded, format: "der", type: "pkcs8" });
  encoded.fill(0);
  return key;
}
