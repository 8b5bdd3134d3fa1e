import { insertAccount } from "../accounts/queries.ts";
import type { Actor } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import { generateId } from "../generate-id.ts";
import { addMember, type MemberDependencies } from "./add-member.ts";
import type { Membership } from "./find-membership.ts";

export type CreateDependencies = MemberDependencies & {
  readonly database: Pick<Database, "acrossAccounts" | "inAccount">;
};

/** The person who creates an organisation becomes its owner. */
export async function createOrganisation(
  actor: Actor,
  name: string,
  dependencies: CreateDependencies,
): Promise<Membership> {
  const { accountId: personId } = actor;
  const by = { ...actor, personId };
  const accountId = generateId();
  const account = { accountId, kind: "organisation", status: "active", isOperator: false, epoch: 1 } as const;
  const { rowMacs } = dependencies.serverKeys;
  await dependencies.database.inAccount(accountId, async (transaction) => {
    await insertAccount(transaction, account, { displayName: name, mac: rowMacs.compute({ account }) });
    const event = { type: "organisation-created", name } as const;
    dependencies.audit.record(transaction, { accountId, by, event });
    await addMember(transaction, { accountId, personId, role: "owner", by }, dependencies);
  });
  return { id: accountId, name, role: "owner", createdAt: new Date() };
}
