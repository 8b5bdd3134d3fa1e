import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/**
 * Seals the model's reasoning for clients that keep the conversation themselves: they send it back unread in
 * `encrypted_content`. AES-256-GCM with a key that lives as long as the process; the API key's name is the associated data,
 * so that reasoning of one API key cannot be opened with another.
 */
export type ReasoningSeal = {
  readonly seal: (keyName: string, text: string) => string;
  /** Undefined for content of another server, another process or another API key. */
  readonly open: (keyName: string, sealed: string) => string | undefined;
};

const algorithm = "aes-256-gcm";
const prefix = "hearth1.";
const nonceBytes = 12;
const tagBytes = 16;

export function createReasoningSeal(key: Uint8Array = randomBytes(32)): ReasoningSeal {
  return {
    seal: (keyName, text) => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(keyName));
      const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return prefix + sealed.toString("base64url");
    },
    open: (keyName, sealed) => {
      if (!sealed.startsWith(prefix)) return undefined;
      const bytes = Buffer.from(sealed.slice(prefix.length), "base64url");
      if (bytes.length < nonceBytes + tagBytes) return undefined;
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      })
        .setAAD(Buffer.from(keyName))
        .setAuthTag(bytes.subarray(-tagBytes));
      try {
        const text = decipher.update(bytes.subarray(nonceBytes, -tagBytes));
        return Buffer.concat([text, decipher.final()]).toString("utf8");
      } catch {
        return undefined;
      }
    },
  };
}
