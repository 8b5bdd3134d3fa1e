import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import {
  type AssociatedData,
  computeMac,
  decrypt,
  deriveMacKey,
  encrypt,
  generateKey,
  IntegrityError,
} from "@hearth-and-keep/envelope-crypto";
import { FailureError } from "@hearth-and-keep/failures";
import type { Database } from "../database/open-database.ts";
import { type Failure, requestFailure } from "../failures.ts";
import type { KeyWrapper } from "./key-wrapper.ts";
import { hasAccounts, insertServerKey, listServerKeys, type ServerKeyRow } from "./queries.ts";
import { createRowMacs, type RowMacs } from "./row-integrity/row-macs.ts";
import { createHeadSeal, type HeadSeal } from "./vault-heads/head-seal.ts";

/** The server's own keys: one encrypts data outside vaults, one signs audit checkpoints, one authenticates rows. */
export type ServerKeys = {
  readonly rowMacs: RowMacs;
  readonly headSeal: HeadSeal;
  encrypt(plaintext: Uint8Array, associatedData: AssociatedData): Buffer;
  /** Throws "integrity-broken" when the ciphertext was modified or is not of this associated data. */
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
  database: Pick<Database, "query" | "acrossAccounts">,
  wrapper: KeyWrapper,
): Promise<ServerKeys> {
  for (const purpose of ["sealing", "signing"] as const) await createFirstKey(database, wrapper, purpose);
  // Whoever can write to the database can also delete this key. A new one must not lead to new MACs for what is found.
  if (!(await hasAccounts(database))) await createFirstKey(database, wrapper, "integrity");
  const rows = await listServerKeys(database);
  if (!rows.some(({ purpose }) => purpose === "integrity"))
    throw new FailureError<Failure>({ kind: "rows-not-authenticated" });
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
  const publicKeys = new Map(
    unwrapped
      .filter(({ purpose }) => purpose === "signing")
      .map((each) => [each.version, publicKeyOf(each.key)]),
  );
  return {
    ...openVerificationKeys(newestKey("integrity").key),
    encrypt: (plaintext, associatedData) => encrypt(plaintext, encryptionKey, associatedData),
    decrypt: (ciphertext, associatedData) => decryptStored(ciphertext, encryptionKey, associatedData),
    fingerprint: (associatedData) => computeMac(macKey, associatedData),
    sign: (message) => ({ signature: sign(null, message, signing), keyVersion: version }),
    // Derived from the private keys, because the stored public ones could have been replaced.
    publicKeys: () => publicKeys,
  };
}

function decryptStored(ciphertext: Uint8Array, key: KeyObject, associatedData: AssociatedData): Buffer {
  try {
    return decrypt(ciphertext, key, associatedData);
  } catch (error) {
    if (error instanceof IntegrityError) throw requestFailure({ kind: "integrity-broken" }, { cause: error });
    throw error;
  }
}

/** As stored, for verification without the key-encryption key. Nothing in the database proves that they are genuine. */
export function storedPublicKeys(rows: readonly ServerKeyRow[]): ServerKeys["publicKeys"] {
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

/** Undefined when the configured key does not unwrap it. */
export async function openStoredKey(
  { purpose, version, kekFingerprint, wrapped }: ServerKeyRow,
  wrapper: KeyWrapper,
): Promise<KeyObject | undefined> {
  try {
    return await wrapper.unwrap(
      wrapped,
      serverKeyAssociatedData(purpose, version, kekFingerprint),
      kekFingerprint,
    );
  } catch (error) {
    if (error instanceof IntegrityError) return undefined;
    throw error;
  }
}

/** What the server's integrity key authenticates. */
export function openVerificationKeys(integrityKey: KeyObject): Pick<ServerKeys, "rowMacs" | "headSeal"> {
  return { rowMacs: createRowMacs(integrityKey), headSeal: createHeadSeal(integrityKey) };
}

async function createFirstKey(
  database: Pick<Database, "query">,
  wrapper: KeyWrapper,
  purpose: ServerKeyRow["purpose"],
): Promise<void> {
  await insertServerKey(database, (await generateServerKey(wrapper, purpose)).row);
}

/** A new key, and the row that stores it. */
export async function generateServerKey(
  wrapper: KeyWrapper,
  purpose: ServerKeyRow["purpose"],
): Promise<{ readonly key: KeyObject; readonly row: ServerKeyRow }> {
  const key = generateKey();
  const { fingerprint } = wrapper;
  const wrapped = await wrapper.wrap(key, serverKeyAssociatedData(purpose, 1, fingerprint));
  const publicKey = purpose === "signing" ? publicKeyOf(key) : null;
  return { key, row: { purpose, version: 1, kekFingerprint: fingerprint, wrapped, publicKey } };
}

/** In SPKI format, of a signing key. */
export function publicKeyOf(seed: KeyObject): Buffer {
  return createPublicKey(signingKey(seed)).export({ type: "spki", format: "der" });
}

/** The PKCS #8 encoding of an Ed25519 key is this prefix followed by its 32 bytes (RFC 8410). */
const ed25519Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

function signingKey(seed: KeyObject): KeyObject {
  const encoded = Buffer.concat([ed25519Prefix, seed.export()]);
  const key = createPrivateKey({ key: encoded, format: "der", type: "pkcs8" });
  encoded.fill(0);
  return key;
}
