import type { Actor } from "../authorization/actor.ts";
import { requestFailure } from "../failures.ts";
import { generateId } from "../generate-id.ts";
import type { AccountDependencies } from "./find-or-create-account.ts";
import type { Person } from "./person.ts";
import { claimIdentity, findIdentity, holdAccount, insertIdentity, refreshIdentity } from "./queries.ts";

/** A second way into an account. Who has an account of their own already keeps it: two are never made one. */
export async function linkIdentity(actor: Actor, person: Person, parts: AccountDependencies): Promise<void> {
  const { accountId } = actor;
  const made = { accountId, identityId: generateId() };
  const isNew = await parts.database.inAccount(accountId, async (transaction) => {
    if (!(await holdAccount(transaction, accountId))) throw requestFailure({ kind: "unauthenticated" });
    if (!(await claimIdentity(transaction, person, made))) return false;
    await insertIdentity(transaction, person, made);
    await parts.audit.record(transaction, {
      chain: accountId,
      by: actor,
      event: { type: "identity-linked", identity: made.identityId, provider: person.provider },
    });
    return true;
  });
  if (isNew) return;
  const known = await findIdentity(parts.database, person);
  if (known?.accountId !== accountId) {
    const reason = "That identity has an account of its own; sign in there and delete it to link it here";
    throw requestFailure({ kind: "sign-in-refused", reason });
  }
  await parts.database.inAccount(accountId, (transaction) => refreshIdentity(transaction, person, known));
}
