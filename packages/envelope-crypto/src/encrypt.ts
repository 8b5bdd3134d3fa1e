import {
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import { decryptXaes, encryptXaes, nonceBytes, tagBytes } from "./xaes-256-gcm.ts";

/**
 * What a ciphertext is bound to: its purpose, then the ids and numbers of its row. Authenticated, but not stored with
 * the ciphertext, because the row has them.
 */
export type AssociatedData = readonly [purpose: string, ...fields: readonly (string | number)[]];

/** Authentication failed: wrong key, wrong associated data, or modified bytes. The error does not reveal which. */
export class IntegrityError extends Error {
  override readonly name = "IntegrityError";

  constructor() {
    super("Cannot decrypt: the data, its key or its associated data was modified");
  }
}

/** The first byte of every ciphertext; a new algorithm gets a new number. */
const xaes256Gcm = 1;
const keyBytes = 32;
const context = "keep/1";

/** Returns one byte for the algorithm, the nonce, the ciphertext and the tag. */
export function encrypt(plaintext: Uint8Array, key: KeyObject, associatedData: AssociatedData): Buffer {
  const nonce = randomBytes(nonceBytes);
  const ciphertext = encryptXaes(plaintext, {
    key,
    nonce,
    associatedData: encodeAssociatedData(associatedData),
  });
  return Buffer.concat([Buffer.of(xaes256Gcm), nonce, ciphertext]);
}

export function decrypt(ciphertext: Uint8Array, key: KeyObject, associatedData: AssociatedData): Buffer {
  if (ciphertext.length < 1 + nonceBytes + tagBytes || ciphertext[0] !== xaes256Gcm)
    throw new IntegrityError();
  const nonce = ciphertext.subarray(1, 1 + nonceBytes);
  const plaintext = decryptXaes(ciphertext.subarray(1 + nonceBytes), {
    key,
    nonce,
    associatedData: encodeAssociatedData(associatedData),
  });
  if (plaintext === undefined) throw new IntegrityError();
  return plaintext;
}

export function generateKey(): KeyObject {
  return toKeyObject(randomBytes(keyBytes));
}

/** Encrypts a key with another key. */
export function wrapKey(key: KeyObject, wrapping: KeyObject, associatedData: AssociatedData): Buffer {
  const bytes = key.export();
  try {
    return encrypt(bytes, wrapping, associatedData);
  } finally {
    bytes.fill(0);
  }
}

export function unwrapKey(
  wrapped: Uint8Array,
  wrapping: KeyObject,
  associatedData: AssociatedData,
): KeyObject {
  const bytes = decrypt(wrapped, wrapping, associatedData);
  if (bytes.length !== keyBytes) throw new IntegrityError();
  return toKeyObject(bytes);
}

/**
 * Derives a MAC key with HKDF, so that encryption and MACs use independent keys. Stored MACs depend on the info
 * string.
 */
export function deriveMacKey(key: KeyObject): KeyObject {
  return toKeyObject(Buffer.from(hkdfSync("sha256", key, Buffer.alloc(0), `${context} marks`, keyBytes)));
}

/** HMAC-SHA-256 over the fields, so that a row cannot be modified without the key. */
export function computeMac(macKey: KeyObject, associatedData: AssociatedData): Buffer {
  return createHmac("sha256", macKey).update(encodeAssociatedData(associatedData)).digest();
}

/** Throws IntegrityError unless the MAC matches; compares in constant time. */
export function verifyMac(mac: Uint8Array, macKey: KeyObject, associatedData: AssociatedData): void {
  const expected = computeMac(macKey, associatedData);
  if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) throw new IntegrityError();
}

/** Moves the key's bytes into native memory and clears the buffer. */
function toKeyObject(bytes: Buffer): KeyObject {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}

/** Type and length of a field. */
const headBytes = 5;

/** Prefixes each field with its type and length, so that different fields never encode to the same bytes. */
function encodeAssociatedData(associatedData: AssociatedData): Buffer {
  const fields = [context, ...associatedData];
  const texts = fields.map(String);
  const length = texts.reduce((sum, text) => sum + headBytes + Buffer.byteLength(text), 0);
  // Filled completely below.
  const encoded = Buffer.allocUnsafe(length);
  let position = 0;
  for (const [index, text] of texts.entries()) {
    const written = encoded.write(text, position + headBytes);
    encoded.write(typeof fields[index] === "number" ? "n" : "t", position);
    encoded.writeUInt32BE(written, position + 1);
    position += headBytes + written;
  }
  return encoded;
}
