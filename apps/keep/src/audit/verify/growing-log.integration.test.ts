import { expect, test } from "vitest";
import type { Database } from "../../database/open-database.ts";
import { startTestKeep } from "../../test/start-test-keep.ts";
import { keysOf } from "../test/archived-keep.ts";
import { verifyLogs } from "./verify-logs.ts";

test("a log that grows while it is verified has no findings", async () => {
  await using keep = await startTestKeep();
  const { accountId } = await keep.addPerson();
  const { audit, nodeLog } = keep.services;
  let appended = 0;
  const append = async (): Promise<void> => {
    appended += 1;
    await audit.recordRead({ accountId, by: "server", event: { type: "account-created" } });
    await nodeLog.append();
  };
  /** Appends after the batches of a log were read, and before its end is. */
  const acrossAccounts: Database["acrossAccounts"] = (work) =>
    keep.database.acrossAccounts((transaction) =>
      work({
        ...transaction,
        query: async (statement) => {
          if (statement.text.includes("FROM audit_log AS log")) await append();
          return transaction.query(statement);
        },
      }),
    );
  const request = { keys: keysOf(keep), trustedNotes: [] };
  const { findings, records } = await verifyLogs(request, { database: { acrossAccounts } });
  expect([findings, appended > 1]).toEqual([[], true]);
  expect(records).toBeGreaterThan(0);
});
