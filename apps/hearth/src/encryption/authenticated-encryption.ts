/**
 * @module
 * Authenticated encryption of what the server writes to disk or gives to clients to keep, and the key of this machine.
 * Content that was changed, or that was encrypted for another purpose or owner, cannot be opened.
 * Imported by the stores that encrypt, and by `commands/`.
 */
import { type CipherGCM, createCipheriv, createDecipheriv, type DecipherGCM, randomBytes } from "node:crypto";

export const keyBytes = 32;

const algorithm = "aes-256-gcm";
export const nonceBytes = 12;
export const tagBytes = 16;

/** AES-256-GCM with a random nonce: nonce, ciphertext and tag in one buffer. */
export function encrypt(key: Uint8Array, content: Uint8Array, associatedData: string): Buffer {
  const { nonce, cipher } = startEncryption(key, associatedData);
  return Buffer.concat([nonce, cipher.update(content), cipher.final(), cipher.getAuthTag()]);
}

/** Undefined if the bytes were changed, or encrypted with another key or for other associated data. */
export function decrypt(key: Uint8Array, bytes: Uint8Array, associatedData: string): Buffer | undefined {
  if (bytes.length < nonceBytes + tagBytes) return undefined;
  const decipher = startDecryption(key, bytes.subarray(0, nonceBytes), associatedData);
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** For content that is too large to be in memory at once. */
export function startEncryption(
  key: Uint8Array,
  associatedData: string,
): { readonly nonce: Buffer; readonly cipher: CipherGCM } {
  const nonce = randomBytes(nonceBytes);
  return { nonce, cipher: createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(associatedData)) };
}

/** What it decrypts may be used only after `final` has verified the tag. */
export function startDecryption(key: Uint8Array, nonce: Uint8Array, associatedData: string): DecipherGCM {
  return createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(
    Buffer.from(associatedData),
  );
}
