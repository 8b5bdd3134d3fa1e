import { expect, test } from "vitest";
import { createCarryOverCheck } from "./carry-overs.ts";

const [accountId, chain] = ["0198a6f2-0000-7000-8000-00000000000a", "0198a6f2-0000-7000-8000-00000000000b"];

/** A database with one chain that was carried over. */
const query = ({ values }: { readonly values?: readonly unknown[] }) =>
  Promise.resolve(values?.[0] === null ? [{ accountId, chain, hash: "ab", isCarriedOver: true }] : []);

async function findingsOf(archived: readonly string[]): Promise<readonly string[]> {
  const findings: string[] = [];
  const check = createCarryOverCheck((finding) => void findings.push(finding));
  for (const stream of archived) check.addArchived(stream);
  await check.compareWithChains({
    acrossAccounts: (work) =>
      // The check uses nothing else of a transaction.
      work({ query: query as never, queryAtCommit: () => undefined, afterCommit: () => undefined }),
  });
  return findings;
}

test("a chain may be carried over by a record that is archived", async () => {
  expect(await findingsOf([chain])).toEqual([]);
  expect(await findingsOf([accountId])).toEqual([
    `Chain ${chain} was added: no record of the log says that it was carried over`,
  ]);
});
