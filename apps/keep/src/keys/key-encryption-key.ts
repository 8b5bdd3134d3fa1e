/**
 * @module
 * Keys: the key-encryption key, where it comes from and how it is recognised; the data key of each vault; the keys of
 * the server itself; and how each is exchanged while requests go on.
 * A key's bytes leave this folder only inside a KeyObject, which neither prints nor serialises.
 * Imported by `main.ts`, `commands/` and the use cases that seal and open.
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { IntegrityError, unwrapKey, wrapKey } from "@hearth-and-keep/envelope-crypto";
import { FailureError } from "@hearth-and-keep/failures";
import type { Hidden } from "@hearth-and-keep/logging";
import type { Failure } from "../failures.ts";
import type { KeyWrapper } from "./key-wrapper.ts";

const keyBytes = 32;
const mostKeys = 8;

export function makeKeyText(): string {
  return randomBytes(keyBytes).toString("base64");
}

/** One or several keys with commas or new lines between them; the first wraps, the others only unwrap. */
export function readKeys(text: Hidden<string> | undefined): KeyWrapper {
  if (text === undefined) throw new FailureError<Failure>({ kind: "key-not-set" });
  const words = text
    .reveal()
    .split(/[\s,]+/u)
    .filter((word) => word !== "");
  if (words.length === 0 || words.length > mostKeys)
    throw new FailureError<Failure>({ kind: "key-malformed" });
  const keys = new Map(words.map(readKey));
  const [fingerprint = ""] = keys.keys();
  const keyOf = (wanted: string): KeyObject => {
    const key = keys.get(wanted);
    // Every start checks that what is needed was given: a row that names another one was changed since.
    if (key === undefined) throw new IntegrityError();
    return key;
  };
  return {
    fingerprint,
    fingerprints: [...keys.keys()],
    wrap: async (key, place) => wrapKey(key, keyOf(fingerprint), place),
    unwrap: async (wrapped, place, by) => unwrapKey(wrapped, keyOf(by), place),
  };
}

/** The fingerprint names the key without giving it away: who tests a guess has 256 random bits to guess. */
function readKey(word: string): readonly [fingerprint: string, key: KeyObject] {
  const bytes = Buffer.from(word, "base64");
  // Node skips characters that are not base64, so a mistyped key is found by writing it back.
  if (bytes.length !== keyBytes || bytes.toString("base64") !== word) {
    throw new FailureError<Failure>({ kind: "key-malformed" });
  }
  const fingerprint = createHmac("sha256", bytes).update("keep key fingerprint").digest("hex").slice(0, 16);
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return [fingerprint, key];
}
