import type { AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import type { Transaction } from "../database/transaction.ts";
import { updateName } from "./queries.ts";

/** The actor acts in the organisation. */
export async function renameOrganisation(
  transaction: Transaction,
  { actor, name }: { readonly actor: Actor; readonly name: string },
  { audit }: { readonly audit: AuditLog },
): Promise<void> {
  const { accountId } = actor;
  await updateName(transaction, accountId, name);
  audit.record(transaction, { accountId, by: actor, event: { type: "organisation-renamed", name } });
}
