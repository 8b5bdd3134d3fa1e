import { FailureError } from "@hearth-and-keep/failures";
import type { Database } from "../database/open-database.ts";
import type { Failure } from "../failures.ts";
import type { KeyWrapper } from "./key-wrapper.ts";
import { makeActive, readOrRecordActiveKey } from "./queries.ts";

/**
 * Refuses to start on a database that was sealed with another key. When the first of several keys is new and the one
 * that was active until now is among the others, the new one becomes active: from then on it wraps, and what the old
 * one wrapped is wrapped anew in the background.
 */
export async function checkKey(
  wrapper: KeyWrapper,
  database: Pick<Database, "ask" | "inTransaction">,
): Promise<void> {
  const active = await readOrRecordActiveKey(database, wrapper.fingerprint);
  if (active === wrapper.fingerprint) return;
  if (!wrapper.fingerprints.includes(active)) {
    throw new FailureError<Failure>({ kind: "key-mismatch", given: wrapper.fingerprint, expected: active });
  }
  await makeActive(database, wrapper.fingerprint);
}
