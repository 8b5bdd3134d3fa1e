import { randomBytes } from "node:crypto";
import { decrypt, encrypt, keyBytes } from "../../../encryption/authenticated-encryption.ts";

/**
 * Seals the model's reasoning for clients that keep the conversation themselves: they send it back unread in
 * `encrypted_content`. Encrypted with a key that lives as long as the process, or with one of this machine if responses
 * are stored on disk; the API key's name is the associated data, so that reasoning of one API key cannot be opened with
 * another.
 */
export type ReasoningSeal = {
  readonly seal: (keyName: string, text: string) => string;
  /** Undefined for content of another server, another process or another API key. */
  readonly open: (keyName: string, sealed: string) => string | undefined;
};

const prefix = "hearth1.";

export function createReasoningSeal(key: Uint8Array = randomBytes(keyBytes)): ReasoningSeal {
  return {
    seal: (keyName, text) => prefix + encrypt(key, Buffer.from(text), keyName).toString("base64url"),
    open: (keyName, sealed) => {
      if (!sealed.startsWith(prefix)) return undefined;
      return decrypt(key, Buffer.from(sealed.slice(prefix.length), "base64url"), keyName)?.toString("utf8");
    },
  };
}
