/**
 * @module
 * The key-encryption key: where it comes from, how it is recognised, and the check at start that it is the right one.
 * The key's bytes leave this folder only inside a KeyObject, which neither prints nor serialises.
 * Imported by `main.ts`, `commands/` and the use cases that seal and open.
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { FailureError } from "@hearth-and-keep/failures";
import type { Hidden } from "@hearth-and-keep/logging";
import type { Failure } from "../failures.ts";

export type KeyEncryptionKey = {
  readonly key: KeyObject;
  /** Names the key without giving it away: an attacker would have to guess 256 random bits to test one. */
  readonly fingerprint: string;
};

const keyBytes = 32;

export function makeKeyText(): string {
  return randomBytes(keyBytes).toString("base64");
}

export function readKey(text: Hidden<string> | undefined): KeyEncryptionKey {
  if (text === undefined) throw new FailureError<Failure>({ kind: "key-not-set" });
  const bytes = Buffer.from(text.reveal(), "base64");
  // Node skips characters that are not base64, so a mistyped key is found by writing it back.
  if (bytes.length !== keyBytes || bytes.toString("base64") !== text.reveal()) {
    throw new FailureError<Failure>({ kind: "key-malformed" });
  }
  const fingerprint = createHmac("sha256", bytes).update("keep key fingerprint").digest("hex").slice(0, 16);
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return { key, fingerprint };
}
