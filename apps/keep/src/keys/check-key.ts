import { FailureError } from "@hearth-and-keep/failures";
import type { Failure } from "../failures.ts";
import type { KeyEncryptionKey } from "./key-encryption-key.ts";

/** Refuses to start on a database that was sealed with another key. */
export async function checkKey(
  { fingerprint }: KeyEncryptionKey,
  parts: { readonly readOrRecordActiveKey: (fingerprint: string) => Promise<string> },
): Promise<void> {
  const expected = await parts.readOrRecordActiveKey(fingerprint);
  if (expected !== fingerprint) {
    throw new FailureError<Failure>({ kind: "key-mismatch", given: fingerprint, expected });
  }
}
