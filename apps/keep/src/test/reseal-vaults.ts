import { sealAsFound } from "../keys/vault-heads/vault-heads.ts";
import type { TestKeep, TestPerson } from "./start-test-keep.ts";

/** Makes Keep accept what a test has written into the rows of a person's vaults by SQL. */
export async function resealVaults(
  { services: { database, serverKeys } }: Pick<TestKeep, "services">,
  { accountId }: Pick<TestPerson, "accountId">,
): Promise<void> {
  await database.inAccount(accountId, async (transaction) => {
    // A new revision, so that running nodes load the heads again.
    await transaction.query({
      text: "UPDATE vault SET revision = revision + 1, live_secrets = (SELECT count(*) FROM live_secret WHERE vault_id = vault.id), all_secrets = (SELECT count(*) FROM secret WHERE vault_id = vault.id) WHERE account_id = $1",
      values: [accountId],
    });
    await sealAsFound(transaction, accountId, serverKeys.headSeal);
  });
}
