/**
 * @module
 * Key management: the key-encryption key and its fingerprint, the vaults' data keys, the server's own keys, and rotation
 * of each without downtime. Key bytes leave this folder only inside a KeyObject, which does not print or serialize them.
 * Imported by `commands/` and the use cases that encrypt and decrypt.
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { IntegrityError, unwrapKey, wrapKey } from "@hearth-and-keep/envelope-crypto";
import { FailureError } from "@hearth-and-keep/failures";
import type { Hidden } from "@hearth-and-keep/logging";
import type { Failure } from "../failures.ts";
import type { KeyWrapper } from "./key-wrapper.ts";

const keyBytes = 32;
const maxKeys = 8;

export function generateKeyText(): string {
  return randomBytes(keyBytes).toString("base64");
}

/** Parses keys separated by commas or newlines; the first wraps, the others only unwrap. */
export function readKeys(
  text: Hidden<string> | undefined,
  { isConfirmed }: Pick<KeyWrapper, "isConfirmed"> = { isConfirmed: true },
): KeyWrapper {
  if (text === undefined) throw new FailureError<Failure>({ kind: "key-not-set" });
  const encodedKeys = splitKeyText(text);
  if (encodedKeys.length === 0 || encodedKeys.length > maxKeys)
    throw new FailureError<Failure>({ kind: "key-malformed" });
  const keys = new Map(encodedKeys.map(readKey));
  const [fingerprint = ""] = keys.keys();
  return createWrapper({ keys, isConfirmed }, fingerprint);
}

/** Each key in base64. */
export function splitKeyText(text: Hidden<string>): readonly string[] {
  return text
    .reveal()
    .split(/[\s,]+/u)
    .filter((encoded) => encoded !== "");
}

type AvailableKeys = Pick<KeyWrapper, "isConfirmed"> & { readonly keys: ReadonlyMap<string, KeyObject> };

function createWrapper(available: AvailableKeys, fingerprint: string): KeyWrapper {
  const { keys, isConfirmed } = available;
  const keyOf = (keyFingerprint: string): KeyObject => {
    const key = keys.get(keyFingerprint);
    // The start-up check ensures that every needed key is configured, so this row was changed since.
    if (key === undefined) throw new IntegrityError();
    return key;
  };
  return {
    fingerprint,
    fingerprints: [...keys.keys()],
    isConfirmed,
    wrap: async (key, associatedData) => wrapKey(key, keyOf(fingerprint), associatedData),
    unwrap: async (wrapped, associatedData, wrappedBy) =>
      unwrapKey(wrapped, keyOf(wrappedBy), associatedData),
    wrappingWith: (other) => createWrapper(available, other),
  };
}

/** The fingerprint identifies the key without revealing it: the key has 256 random bits, so it cannot be guessed. */
function readKey(encoded: string): readonly [fingerprint: string, key: KeyObject] {
  const bytes = Buffer.from(encoded, "base64");
  // Node's decoder skips invalid characters, so a mistyped key is detected by encoding it again.
  if (bytes.length !== keyBytes || bytes.toString("base64") !== encoded) {
    throw new FailureError<Failure>({ kind: "key-malformed" });
  }
  const fingerprint = createHmac("sha256", bytes).update("keep key fingerprint").digest("hex").slice(0, 16);
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return [fingerprint, key];
}
