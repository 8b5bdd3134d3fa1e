/**
 * @module
 * Verification of the rows that decide who reads what: each is genuine by its MAC, its account's epoch or its vault's head,
 * and agrees with what the audit log says of it. Guarantees that a row which Keep did not write last is named by table and
 * id; reads one account at a time, in pages, and changes nothing.
 * Imported by `commands/`.
 */
import type { Database } from "../../database/open-database.ts";
import type { KeyWrapper } from "../key-wrapper.ts";
import { listAccountIds } from "../row-integrity/queries.ts";
import { createVaultKeys } from "../vault-keys.ts";
import { foldAccountEvents } from "./logged-account.ts";
import { listMissingAccounts } from "./queries.ts";
import { verifyAccount } from "./verify-account.ts";
import type { VerificationKeys } from "./verify-server-keys.ts";
import { verifyVaults } from "./verify-vaults.ts";

export type RowVerificationDependencies = {
  readonly database: Pick<Database, "query" | "queryInAccount" | "acrossAccounts">;
  readonly wrapper: KeyWrapper;
  readonly keys: VerificationKeys;
  readonly report: (finding: string) => void;
};

const concurrentAccounts = 4;

/** `values` are the versions that decrypted. */
export type RowCounts = { accounts: number; vaults: number; secrets: number; values: number };

export async function verifyRows({
  database,
  wrapper,
  keys,
  report,
}: RowVerificationDependencies): Promise<RowCounts> {
  const counts = { accounts: 0, vaults: 0, secrets: 0, values: 0 };
  for (const account of await listMissingAccounts(database)) report(`account ${account} was removed`);
  const verifyOne = async (accountId: string): Promise<void> => {
    counts.accounts += 1;
    await reportConfirmed(report, async (found) => {
      const verifier = { database, vaultKeys: createVaultKeys(database, wrapper), report: found, ...keys };
      const logged = await foldAccountEvents(database, accountId);
      await verifyAccount(accountId, logged, verifier);
      const { vaults, secrets, values } = await verifyVaults(accountId, logged, verifier);
      return () => {
        counts.vaults += vaults;
        counts.secrets += secrets;
        counts.values += values;
      };
    });
  };
  for (let page = await listAccountIds(database, undefined); page.length > 0; ) {
    for (let start = 0; start < page.length; start += concurrentAccounts)
      await Promise.all(page.slice(start, start + concurrentAccounts).map(verifyOne));
    page = await listAccountIds(database, page.at(-1));
  }
  return counts;
}

type Verification = (report: (finding: string) => void) => Promise<() => void>;

/** A change between two queries looks like tampering, so what was found is looked for again. */
async function reportConfirmed(report: (finding: string) => void, verify: Verification): Promise<void> {
  const found = new Set<string>();
  const count = await verify((finding) => found.add(finding));
  count();
  if (found.size === 0) return;
  await verify((finding) => {
    if (found.delete(finding)) report(finding);
  });
}
