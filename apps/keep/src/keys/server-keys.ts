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

/** Keys of the server itself: what seals things that belong to no vault, and what signs the audit log's checkpoints. */
export type ServerKeys = {
  seal(plaintext: Uint8Array, place: AssociatedData): Buffer;
  open(sealed: Uint8Array, place: AssociatedData): Buffer;
  /** 32 bytes that tell one place from another, and by which nobody without the key can test a guess. */
  fingerprint(place: AssociatedData): Buffer;
  /** Ed25519. */
  sign(message: Uint8Array): { readonly signature: Buffer; readonly keyVersion: number };
  /** Every public key that a checkpoint may be signed with, in SPKI form, by version. */
  publicKeys(): ReadonlyMap<number, Buffer>;
};

export function serverKeyContext(
  purpose: ServerKeyRow["purpose"],
  version: number,
  fingerprint: string,
): AssociatedData {
  return ["server-key", purpose, version, fingerprint];
}

/** Makes what is missing. To unwrap them is also the proof at every start that the key-encryption key is the right one. */
export async function openServerKeys(
  database: Pick<Database, "ask">,
  wrapper: KeyWrapper,
): Promise<ServerKeys> {
  for (const purpose of ["sealing", "signing"] as const) await makeFirst(database, wrapper, purpose);
  const rows = await listServerKeys(database);
  const opened = await Promise.all(
    rows.map(async ({ purpose, version, kekFingerprint, wrapped }) => ({
      purpose,
      version,
      key: await wrapper.unwrap(wrapped, serverKeyContext(purpose, version, kekFingerprint), kekFingerprint),
    })),
  );
  const newest = (wanted: ServerKeyRow["purpose"]) => {
    const found = opened.findLast(({ purpose }) => purpose === wanted);
    if (found === undefined) throw new Error(`Cannot find the server's ${wanted} key`);
    return found;
  };
  const sealing = newest("sealing").key;
  const marking = deriveMacKey(sealing);
  const { key, version } = newest("signing");
  const signing = signingKey(key);
  return {
    seal: (plaintext, place) => encrypt(plaintext, sealing, place),
    open: (sealed, place) => decrypt(sealed, sealing, place),
    fingerprint: (place) => computeMac(marking, place),
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

/** Whether the key-encryption key that was given opens what is stored now; another node may have changed it since. */
export async function opensServerKeys(
  database: Pick<Database, "ask">,
  wrapper: KeyWrapper,
): Promise<boolean> {
  const rows = await listServerKeys(database);
  const opened = await Promise.allSettled(
    rows.map(({ purpose, version, kekFingerprint, wrapped }) =>
      wrapper.unwrap(wrapped, serverKeyContext(purpose, version, kekFingerprint), kekFingerprint),
    ),
  );
  return opened.length > 0 && opened.every(({ status }) => status === "fulfilled");
}

async function makeFirst(
  database: Pick<Database, "ask">,
  wrapper: KeyWrapper,
  purpose: ServerKeyRow["purpose"],
): Promise<void> {
  const key = generateKey();
  const { fingerprint } = wrapper;
  const wrapped = await wrapper.wrap(key, serverKeyContext(purpose, 1, fingerprint));
  const publicKey =
    purpose === "signing" ? createPublicKey(signingKey(key)).export({ type: "spki", format: "der" }) : null;
  await insertServerKey(database, { purpose, version: 1, kekFingerprint: fingerprint, wrapped, publicKey });
}

/** PKCS #8 of an Ed25519 key is this beginning and its 32 bytes (RFC 8410). */
const ed25519Beginning = Buffer.from("302e020100300506032b657004220420", "hex");

function signingKey(seed: KeyObject): KeyObject {
  const encoded = Buffer.concat([ed25519Beginning, seed.export()]);
  const key = createPrivateKey({ key: encoded, format: "der", type: "pkcs8" });
  encoded.fill(0);
  return key;
}
