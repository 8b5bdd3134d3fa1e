import { FailureError } from "@hearth-and-keep/failures";
import type { Database } from "../database/open-database.ts";
import type { Failure } from "../failures.ts";
import type { KeyWrapper } from "./key-wrapper.ts";
import { isKeyNeeded, listRetiredKeys, makeActive, readOrRecordActiveKey } from "./queries.ts";

/**
 * Refuses to start on a database that was sealed with another key. When the first of several keys is new and the one
 * that was active until now is among the others, the new one becomes active: from then on it wraps, and what the old
 * one wrapped is wrapped anew in the background.
 */
export async function checkKey(
  wrapper: KeyWrapper,
  database: Pick<Database, "ask" | "inTransaction" | "acrossAccounts">,
): Promise<void> {
  const given = wrapper.fingerprint;
  const active = await readOrRecordActiveKey(database, given);
  const expected = wrapper.fingerprints.includes(active)
    ? await findMissingKey(database, wrapper.fingerprints)
    : active;
  if (expected !== undefined) throw new FailureError<Failure>({ kind: "key-mismatch", given, expected });
  if (active !== given) await makeActive(database, given);
}

/** An older key that was taken away before everything it wrapped was wrapped anew. */
async function findMissingKey(
  database: Pick<Database, "ask" | "acrossAccounts">,
  known: readonly string[],
): Promise<string | undefined> {
  for (const fingerprint of await listRetiredKeys(database)) {
    if (!known.includes(fingerprint) && (await isKeyNeeded(database, fingerprint))) return fingerprint;
  }
  return undefined;
}
