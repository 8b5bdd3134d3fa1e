import type { KeepDependencies } from "../dependencies.ts";
import { signAllRows } from "../keys/row-integrity/account-epoch.ts";

type SessionServices = { readonly services: Pick<KeepDependencies, "database" | "serverKeys"> };

/** Changes the sessions of an account by SQL, e.g. to let time pass, and signs them as if Keep had written them so. */
export async function changeSessions(
  { services: { database, serverKeys } }: SessionServices,
  accountId: string,
  assignments: string,
): Promise<void> {
  await database.inAccount(accountId, async (transaction) => {
    await transaction.query({ text: `UPDATE session SET ${assignments}` });
    await signAllRows(transaction, accountId, serverKeys.rowMacs);
  });
}
