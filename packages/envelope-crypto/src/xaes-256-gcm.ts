import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from "node:crypto";

/**
 * XAES-256-GCM (c2sp.org/XAES-256-GCM): AES-256-GCM with a key derived from the given key and the first half of a
 * 24-byte nonce, so that random nonces do not collide in practice.
 */
export const nonceBytes = 24;
export const tagBytes = 16;

const blockBytes = 16;
const derivationBytes = 12;
/** CMAC subkeys, cached because they depend only on the key. */
const subkeys = new WeakMap<KeyObject, Buffer>();

export type XaesParameters = {
  readonly key: KeyObject;
  readonly nonce: Uint8Array;
  readonly associatedData: Uint8Array;
};

/** Returns the ciphertext followed by the tag. */
export function encryptXaes(plaintext: Uint8Array, { key, nonce, associatedData }: XaesParameters): Buffer {
  const cipher = createCipheriv("aes-256-gcm", deriveKey(key, nonce), nonce.subarray(derivationBytes), {
    authTagLength: tagBytes,
  });
  cipher.setAAD(associatedData);
  return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

/** Undefined when authentication fails. */
export function decryptXaes(
  ciphertext: Uint8Array,
  { key, nonce, associatedData }: XaesParameters,
): Buffer | undefined {
  if (ciphertext.length < tagBytes) return undefined;
  const decipher = createDecipheriv("aes-256-gcm", deriveKey(key, nonce), nonce.subarray(derivationBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(associatedData);
  decipher.setAuthTag(ciphertext.subarray(-tagBytes));
  const plaintext = decipher.update(ciphertext.subarray(0, -tagBytes));
  try {
    return Buffer.concat([plaintext, decipher.final()]);
  } catch {
    plaintext.fill(0);
    return undefined;
  }
}

/**
 * NIST SP 800-108 KDF in counter mode with CMAC, two blocks; the label is "X", the context the first half of the
 * nonce.
 */
function deriveKey(key: KeyObject, nonce: Uint8Array): KeyObject {
  if (nonce.length !== nonceBytes)
    throw new Error(`Cannot use a nonce of ${nonce.length} bytes; it must have ${nonceBytes}`);
  const subkey = subkeyOf(key);
  const blocks = Buffer.alloc(2 * blockBytes);
  for (const counter of [1, 2]) {
    const block = blocks.subarray((counter - 1) * blockBytes);
    block.set([0, counter, "X".charCodeAt(0), 0]);
    block.set(nonce.subarray(0, derivationBytes), 4);
    for (const [index, byte] of subkey.entries()) block[index] = (block[index] ?? 0) ^ byte;
  }
  const derived = encryptEcb(key, blocks);
  const derivedKey = createSecretKey(derived);
  derived.fill(0);
  return derivedKey;
}

/** CMAC's K1: the encrypted zero block, doubled in GF(2^128). */
function subkeyOf(key: KeyObject): Buffer {
  const cached = subkeys.get(key);
  if (cached !== undefined) return cached;
  const block = encryptEcb(key, Buffer.alloc(blockBytes));
  const value = BigInt(`0x${block.toString("hex")}`);
  const doubled = BigInt.asUintN(128, value << 1n) ^ (value >> 127n === 1n ? 0x87n : 0n);
  const subkey = Buffer.from(doubled.toString(16).padStart(2 * blockBytes, "0"), "hex");
  subkeys.set(key, subkey);
  return subkey;
}

/** The raw block cipher, applied to each block independently. */
function encryptEcb(key: KeyObject, blocks: Uint8Array): Buffer {
  const cipher = createCipheriv("aes-256-ecb", key, null);
  cipher.setAutoPadding(false);
  return Buffer.concat([cipher.update(blocks), cipher.final()]);
}
