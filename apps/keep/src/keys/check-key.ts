import { FailureError } from "@hearth-and-keep/failures";
import type { Database } from "../database/open-database.ts";
import type { Failure } from "../failures.ts";
import type { KeyWrapper } from "./key-wrapper.ts";
import { activateKey, isKeyNeeded, listRetiredKeys, readOrRecordActiveKey } from "./queries.ts";

/**
 * Returns the wrapper with the key that wraps. Throws "key-mismatch" for a database that was encrypted with another key.
 * If the first configured key is new and the active one is among the others, the new one becomes active; data keys
 * wrapped by the old one are rewrapped in the background. A key that was retired never becomes active again: a node that
 * still has the old order of keys wraps with the active one, instead of undoing a rotation. A key of a program becomes active
 * only if its fingerprint is pinned: whoever can replace what the program decrypts could otherwise replace the key.
 */
export async function checkKey(
  wrapper: KeyWrapper,
  database: Pick<Database, "query" | "inTransaction" | "acrossAccounts">,
): Promise<KeyWrapper> {
  const given = wrapper.fingerprint;
  const active = await readOrRecordActiveKey(database, given);
  const expected = wrapper.fingerprints.includes(active)
    ? await findMissingKey(database, wrapper.fingerprints)
    : active;
  if (expected !== undefined) throw new FailureError<Failure>({ kind: "key-mismatch", given, expected });
  if (active !== given && !wrapper.isConfirmed && !(await listRetiredKeys(database)).includes(given))
    throw new FailureError<Failure>({ kind: "key-not-confirmed", given, active });
  return active === given || (await activateKey(database, given)) ? wrapper : wrapper.wrappingWith(active);
}

/** A retired key that is no longer configured although data keys are still wrapped by it. */
async function findMissingKey(
  database: Pick<Database, "query" | "acrossAccounts">,
  availableKeys: readonly string[],
): Promise<string | undefined> {
  for (const fingerprint of await listRetiredKeys(database)) {
    if (!availableKeys.includes(fingerprint) && (await isKeyNeeded(database, fingerprint)))
      return fingerprint;
  }
  return undefined;
}
