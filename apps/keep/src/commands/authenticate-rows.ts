import type { Database } from "../database/open-database.ts";
import { checkKey } from "../keys/check-key.ts";
import type { KeyWrapper } from "../keys/key-wrapper.ts";
import { insertServerKey, listServerKeys } from "../keys/queries.ts";
import { signAllRows } from "../keys/row-integrity/account-epoch.ts";
import { listAccountIds } from "../keys/row-integrity/queries.ts";
import { createRowMacs } from "../keys/row-integrity/row-macs.ts";
import { generateServerKey } from "../keys/server-keys.ts";
import { createHeadSeal } from "../keys/vault-heads/head-seal.ts";
import { sealAsFound } from "../keys/vault-heads/vault-heads.ts";
import { deleteSessions } from "../sign-in/queries.ts";

export type AuthenticationDependencies = {
  readonly database: Database;
  readonly wrapper: KeyWrapper;
  readonly print: (line: string) => void;
};

/**
 * Upgrades a database from before rows were authenticated: signs every account, identity, token and vault as found, and
 * ends all sessions. Only an operator may decide that, because whoever could write to the database may have added identities
 * and tokens. The key is stored last, so that an interrupted run starts over.
 */
export async function authenticateRows({
  database,
  wrapper: given,
  print,
}: AuthenticationDependencies): Promise<void> {
  const wrapper = await checkKey(given, database);
  const keys = await listServerKeys(database);
  if (keys.some(({ purpose }) => purpose === "integrity")) {
    print("The rows of this database are already authenticated");
    return;
  }
  const { key, row } = await generateServerKey(wrapper, "integrity");
  const rowMacs = createRowMacs(key);
  const headSeal = createHeadSeal(key);
  const count = { accounts: 0, identities: 0, tokens: 0, vaults: 0 };
  for (let page = await listAccountIds(database, undefined); page.length > 0; ) {
    for (const accountId of page) {
      await database.inAccount(accountId, async (transaction) => {
        await deleteSessions(transaction, accountId);
        const { tokens, identities } = await signAllRows(transaction, accountId, rowMacs);
        count.tokens += tokens;
        count.identities += identities;
        count.vaults += await sealAsFound(transaction, accountId, headSeal);
      });
      count.accounts += 1;
    }
    page = await listAccountIds(database, page.at(-1));
  }
  await insertServerKey(database, row);
  const { accounts, identities, tokens, vaults } = count;
  print(
    `Authenticated ${accounts} accounts, ${identities} identities, ${tokens} tokens and ${vaults} vaults as found, and ended all sessions`,
  );
}
