import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

export const keyBytes = 32;

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

/** AES-256-GCM with a random nonce: nonce, ciphertext and tag in one buffer. */
export function encrypt(key: Uint8Array, content: Uint8Array, associatedData: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(associatedData));
  return Buffer.concat([nonce, cipher.update(content), cipher.final(), cipher.getAuthTag()]);
}

/** Undefined if the bytes were changed, or encrypted with another key or for other associated data. */
export function decrypt(key: Uint8Array, bytes: Uint8Array, associatedData: string): Buffer | undefined {
  if (bytes.length < nonceBytes + tagBytes) return undefined;
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  })
    .setAAD(Buffer.from(associatedData))
    .setAuthTag(bytes.subarray(-tagBytes));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]);
  } catch {
    return undefined;
  }
}
