import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import {
  type JoinedAccount,
  joinedAccountColumns,
  type Signed,
  splitAccount,
} from "../keys/row-integrity/queries.ts";
import type { AccountRow, InvitationRow, MemberRow } from "../keys/row-integrity/row-macs.ts";

export type MemberRef = Pick<MemberRow, "accountId" | "personId">;

/** A member of an active account, with the MACs of both rows. */
export type StoredMember = Signed<MemberRow> & {
  readonly name: string;
  readonly createdAt: Date;
  /** Which grants the vaults of the organisation have: see `read-grants.ts`. */
  readonly grantsVersion: string | null;
  readonly account: Signed<AccountRow>;
};

type FoundMemberRow = Pick<
  StoredMember,
  "role" | "teamIds" | "groupTeamIds" | "mac" | "name" | "createdAt" | "grantsVersion"
> &
  JoinedAccount;

export async function findMember(
  database: Pick<Database, "queryInAccount">,
  { accountId, personId }: MemberRef,
): Promise<StoredMember | undefined> {
  const [row] = await database.queryInAccount<FoundMemberRow>(accountId, {
    name: "find-member",
    connection: "system",
    text: `SELECT role, team_ids AS "teamIds", group_team_ids AS "groupTeamIds", member.mac, account.display_name AS name, account.created_at AS "createdAt", (SELECT string_agg(access.vault_id || ' ' || coalesce(encode(access.mac, 'base64'), ''), ' ' ORDER BY access.vault_id) FROM vault_access AS access WHERE access.account_id = member.account_id) AS "grantsVersion", ${joinedAccountColumns} FROM member JOIN account USING (account_id) WHERE account_id = entered.account::uuid AND person_id = $2 AND account.status = 'active'`,
    values: [personId],
  });
  if (row === undefined) return undefined;
  const { account, rest } = splitAccount(accountId, row);
  return { ...rest, accountId, personId, account };
}

/** Undefined when there is no such account. */
export async function findAccount(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
): Promise<Signed<AccountRow> | undefined> {
  const [row] = await database.queryInAccount<Signed<AccountRow>>(accountId, {
    name: "find-account",
    connection: "system",
    text: 'SELECT account_id AS "accountId", kind, status, is_operator AS "isOperator", epoch, mac FROM account WHERE account_id = entered.account::uuid',
  });
  return row;
}

/** Ids of the organisations that a person may be a member of, in order of creation. */
export async function listMemberRoutes(
  database: Pick<Database, "query">,
  personId: string,
): Promise<readonly string[]> {
  const rows = await database.query<{ account_id: string }>({
    text: "SELECT account_id FROM member_route WHERE person_id = $1 ORDER BY account_id",
    values: [personId],
  });
  return rows.map(({ account_id }) => account_id);
}

/** Counts the person's organisations, and lets no transaction change them until this one ends. */
export async function lockMemberships(transaction: Transaction, personId: string): Promise<number> {
  await transaction.query({
    text: "SELECT pg_advisory_xact_lock(hashtextextended('keep_memberships:' || $1, 0))",
    values: [personId],
  });
  const [row] = await transaction.query<{ count: number }>({
    text: "SELECT count(*)::integer AS count FROM member_route WHERE person_id = $1",
    values: [personId],
  });
  return row?.count ?? 0;
}

/** By their ids. An account that is not active is left out. */
export async function readDisplayNames(
  database: Pick<Database, "acrossAccounts">,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await database.acrossAccounts((transaction) =>
    transaction.query<{ id: string; name: string }>({
      text: "SELECT account_id AS id, display_name AS name FROM account WHERE account_id = ANY ($1) AND status = 'active'",
      values: [accountIds],
    }),
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** False when the person is a member already. */
export async function insertMember(
  transaction: Transaction,
  { accountId, personId, role, mac }: Omit<Signed<MemberRow>, "teamIds" | "groupTeamIds">,
): Promise<boolean> {
  const inserted = await transaction.query({
    text: "INSERT INTO member (person_id, account_id, role, mac) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING person_id",
    values: [personId, accountId, role, mac],
  });
  if (inserted.length === 0) return false;
  await transaction.query({
    text: "INSERT INTO member_route (person_id, account_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
    values: [personId, accountId],
  });
  return true;
}

export async function updateMemberRole(
  transaction: Transaction,
  { accountId, personId, role, mac }: Omit<Signed<MemberRow>, "teamIds" | "groupTeamIds">,
): Promise<void> {
  await transaction.query({
    text: "UPDATE member SET role = $3, mac = $4 WHERE person_id = $1 AND account_id = $2",
    values: [personId, accountId, role, mac],
  });
}

/** With the invitations that the member created; returns their ids. */
export async function deleteMember(
  transaction: Transaction,
  { accountId, personId }: MemberRef,
): Promise<readonly string[]> {
  await transaction.query({
    text: "DELETE FROM member WHERE person_id = $1 AND account_id = $2",
    values: [personId, accountId],
  });
  await transaction.query({
    text: "DELETE FROM member_route WHERE person_id = $1 AND account_id = $2",
    values: [personId, accountId],
  });
  const rows = await transaction.query<{ id: string }>({
    text: "DELETE FROM invitation WHERE account_id = $1 AND invited_by = $2 RETURNING id",
    values: [accountId, personId],
  });
  return rows.map(({ id }) => id);
}

export async function updateName(transaction: Transaction, accountId: string, name: string): Promise<void> {
  await transaction.query({
    text: "UPDATE account SET display_name = $2 WHERE account_id = $1",
    values: [accountId, name],
  });
}

export type ListedMember = {
  readonly personId: string;
  readonly role: string;
  readonly teamIds: readonly string[];
  readonly groupTeamIds: readonly string[];
  readonly joinedAt: Date;
};

/** In the order in which the people first signed in. */
export function listMembers(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<readonly ListedMember[]> {
  return database.queryInAccount<ListedMember>(accountId, {
    text: 'SELECT person_id AS "personId", role, team_ids AS "teamIds", group_team_ids AS "groupTeamIds", joined_at AS "joinedAt" FROM member WHERE account_id = entered.account::uuid AND ($2::uuid IS NULL OR person_id > $2) ORDER BY person_id LIMIT $3',
    values: [after, limit],
  });
}

export async function countMembers(transaction: Transaction, accountId: string): Promise<number> {
  const [row] = await transaction.query<{ count: number }>({
    text: "SELECT count(*)::integer AS count FROM member WHERE account_id = $1",
    values: [accountId],
  });
  return row?.count ?? 0;
}

/** Deletes expired ones, and counts the others. */
export async function countInvitations(transaction: Transaction, accountId: string): Promise<number> {
  await transaction.query({
    text: "DELETE FROM invitation WHERE account_id = $1 AND expires_at <= now()",
    values: [accountId],
  });
  const [row] = await transaction.query<{ count: number }>({
    text: "SELECT count(*)::integer AS count FROM invitation WHERE account_id = $1",
    values: [accountId],
  });
  return row?.count ?? 0;
}

export type InvitationExpiry = {
  readonly days: number;
  /** The MAC of the row with its expiry. */
  readonly sign: (expiresAt: Date) => Buffer;
};

export async function insertInvitation(
  transaction: Transaction,
  { accountId, id, secretHash, role, identity, invitedBy }: Omit<InvitationRow, "expiresAt">,
  { days, sign }: InvitationExpiry,
): Promise<{ readonly createdAt: Date; readonly expiresAt: Date }> {
  const [row] = await transaction.query<{ createdAt: Date; expiresAt: Date }>({
    text: `INSERT INTO invitation (id, account_id, secret_hash, role, identity, invited_by, expires_at) VALUES ($1, $2, $3, $4, $5, $6, date_trunc('milliseconds', now()) + make_interval(days => $7)) RETURNING created_at AS "createdAt", expires_at AS "expiresAt"`,
    values: [id, accountId, secretHash, role, identity, invitedBy, days],
  });
  if (row === undefined) throw new Error("Query returned no row");
  await transaction.query({
    text: "UPDATE invitation SET mac = $3 WHERE id = $1 AND account_id = $2",
    values: [id, accountId, sign(row.expiresAt)],
  });
  return row;
}

export type ListedInvitation = Omit<InvitationRow, "accountId" | "secretHash"> & { readonly createdAt: Date };

/** Those that have not expired, in order of creation. */
export function listInvitations(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
): Promise<readonly ListedInvitation[]> {
  return database.queryInAccount<ListedInvitation>(accountId, {
    text: 'SELECT id, role, identity, invited_by AS "invitedBy", created_at AS "createdAt", expires_at AS "expiresAt" FROM invitation WHERE account_id = entered.account::uuid AND expires_at > now() ORDER BY id LIMIT 200',
  });
}

/** False when there is none. */
export async function deleteInvitation(
  transaction: Transaction,
  { accountId, id }: Pick<InvitationRow, "accountId" | "id">,
): Promise<boolean> {
  const rows = await transaction.query({
    text: "DELETE FROM invitation WHERE id = $1 AND account_id = $2 RETURNING id",
    values: [id, accountId],
  });
  return rows.length === 1;
}

/** An invitation to an active account that has not expired, with the MACs of both rows. */
export type StoredInvitation = Signed<InvitationRow> & {
  readonly name: string;
  readonly account: Signed<AccountRow>;
};

type FoundInvitationRow = Omit<Signed<InvitationRow>, "accountId" | "secretHash"> &
  Pick<StoredInvitation, "name"> &
  JoinedAccount;

export async function findInvitation(
  database: Pick<Database, "queryInAccount">,
  { accountId, secretHash }: Pick<InvitationRow, "accountId" | "secretHash">,
): Promise<StoredInvitation | undefined> {
  const [row] = await database.queryInAccount<FoundInvitationRow>(accountId, {
    name: "find-invitation",
    connection: "system",
    text: `SELECT invitation.id, role, identity, invited_by AS "invitedBy", expires_at AS "expiresAt", invitation.mac, account.display_name AS name, ${joinedAccountColumns} FROM invitation JOIN account USING (account_id) WHERE account_id = entered.account::uuid AND secret_hash = $2 AND expires_at > now() AND account.status = 'active'`,
    values: [secretHash],
  });
  if (row === undefined) return undefined;
  const { account, rest } = splitAccount(accountId, row);
  return { ...rest, accountId, secretHash, account };
}
