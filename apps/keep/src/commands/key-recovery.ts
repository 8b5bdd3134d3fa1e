import { FailureError } from "@hearth-and-keep/failures";
import type { Database } from "../database/open-database.ts";
import type { Failure } from "../failures.ts";
import type { KeyWrapper } from "../keys/key-wrapper.ts";
import { readActiveKey } from "../keys/queries.ts";
import { verifyRows } from "../keys/verify-rows/verify-rows.ts";
import { verifyServerKeys } from "../keys/verify-rows/verify-server-keys.ts";
import { exitCodes } from "./trusted-files.ts";

/** A recovery file with another key would be found useless only when it is needed. */
export async function assertKeyOfDatabase(
  fingerprints: readonly string[],
  database: Pick<Database, "query">,
): Promise<void> {
  const expected = await readActiveKey(database);
  if (expected === undefined || fingerprints.includes(expected)) return;
  throw new FailureError<Failure>({ kind: "key-mismatch", given: fingerprints[0] ?? "", expected });
}

export type DrillDependencies = {
  readonly database: Pick<Database, "query" | "queryInAccount" | "acrossAccounts">;
  readonly print: (line: string) => void;
};

/** Opens every key and every value with the recovered keys, and prints how many. Returns the exit code. */
export async function drillRecovery(
  wrapper: KeyWrapper,
  { database, print }: DrillDependencies,
): Promise<number> {
  await assertKeyOfDatabase(wrapper.fingerprints, database);
  let findings = 0;
  const report = (finding: string): void => {
    findings += 1;
    print(finding);
  };
  const keys = await verifyServerKeys({ database, wrapper, report });
  const rows = keys && (await verifyRows({ database, wrapper, keys, report }));
  if (rows !== undefined)
    print(
      `Accounts: ${rows.accounts}, vaults: ${rows.vaults}, secrets: ${rows.secrets}, values opened: ${rows.values}`,
    );
  const isComplete = rows !== undefined && findings === 0;
  print(
    isComplete
      ? `The recovery works: the key ${wrapper.fingerprint} opens everything in this database`
      : `The recovery is not complete: ${findings} findings`,
  );
  return isComplete ? exitCodes.valid : exitCodes.invalid;
}
