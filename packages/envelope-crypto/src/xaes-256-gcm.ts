import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from "node:crypto";

/**
 * XAES-256-GCM (c2sp.org/XAES-256-GCM): AES-256-GCM under a key that is derived from ours and the first half of a
 * nonce of 24 bytes, so that random nonces never run out.
 */
export const nonceBytes = 24;
export const tagBytes = 16;

const blockBytes = 16;
const derivedFrom = 12;
/** The subkey of the derivation depends on the key alone. */
const subkeys = new WeakMap<KeyObject, Buffer>();

export type Sealing = {
  readonly key: KeyObject;
  readonly nonce: Uint8Array;
  readonly associated: Uint8Array;
};

/** Ciphertext and tag. */
export function sealXaes(plaintext: Uint8Array, { key, nonce, associated }: Sealing): Buffer {
  const cipher = createCipheriv("aes-256-gcm", deriveKey(key, nonce), nonce.subarray(derivedFrom), {
    authTagLength: tagBytes,
  });
  cipher.setAAD(associated);
  return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

/** Undefined when anything is not as it was sealed. */
export function openXaes(sealed: Uint8Array, { key, nonce, associated }: Sealing): Buffer | undefined {
  if (sealed.length < tagBytes) return undefined;
  const decipher = createDecipheriv("aes-256-gcm", deriveKey(key, nonce), nonce.subarray(derivedFrom), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(associated);
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  const plaintext = decipher.update(sealed.subarray(0, -tagBytes));
  try {
    return Buffer.concat([plaintext, decipher.final()]);
  } catch {
    plaintext.fill(0);
    return undefined;
  }
}

/** CMAC in counter mode, two blocks: NIST SP 800-108 with the label "X" and the nonce's beginning as the context. */
function deriveKey(key: KeyObject, nonce: Uint8Array): KeyObject {
  if (nonce.length !== nonceBytes) throw new Error(`Cannot seal with a nonce of ${nonce.length} bytes`);
  const subkey = subkeyOf(key);
  const blocks = Buffer.alloc(2 * blockBytes);
  for (const counter of [1, 2]) {
    const block = blocks.subarray((counter - 1) * blockBytes);
    block.set([0, counter, "X".charCodeAt(0), 0]);
    block.set(nonce.subarray(0, derivedFrom), 4);
    for (const [index, byte] of subkey.entries()) block[index] = (block[index] ?? 0) ^ byte;
  }
  const derived = encryptBlocks(key, blocks);
  const derivedKey = createSecretKey(derived);
  derived.fill(0);
  return derivedKey;
}

/** CMAC's K1: the encrypted zero block, doubled in GF(2^128). */
function subkeyOf(key: KeyObject): Buffer {
  const known = subkeys.get(key);
  if (known !== undefined) return known;
  const block = encryptBlocks(key, Buffer.alloc(blockBytes));
  const value = BigInt(`0x${block.toString("hex")}`);
  const doubled = BigInt.asUintN(128, value << 1n) ^ (value >> 127n === 1n ? 0x87n : 0n);
  const subkey = Buffer.from(doubled.toString(16).padStart(2 * blockBytes, "0"), "hex");
  subkeys.set(key, subkey);
  return subkey;
}

/** Whole blocks, each by itself: the raw block cipher that CMAC is made of. */
function encryptBlocks(key: KeyObject, blocks: Uint8Array): Buffer {
  const cipher = createCipheriv("aes-256-ecb", key, null);
  cipher.setAutoPadding(false);
  return Buffer.concat([cipher.update(blocks), cipher.final()]);
}
