import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import type {
  AccountRow,
  IdentityRow,
  InvitationRow,
  MemberRow,
  SessionRow,
  TeamGroupRow,
  TokenRouteRow,
  TokenRow,
  TrustRuleRow,
  VaultAccessRow,
} from "./row-macs.ts";

export type Signed<Row> = Row & { readonly mac: Buffer | null };

/** What a row that is joined with its account needs for the account's MAC, read with `splitAccount`. */
export const joinedAccountColumns =
  'account.kind, account.status, account.is_operator AS "isOperator", account.epoch, account.mac AS "accountMac"';

export type JoinedAccount = Omit<AccountRow, "accountId"> & { readonly accountMac: Buffer | null };

/** The account of a row with `joinedAccountColumns`, and the rest of the row. */
export function splitAccount<Row extends JoinedAccount>(
  accountId: string,
  { kind, status, isOperator, epoch, accountMac, ...rest }: Row,
): { readonly account: Signed<AccountRow>; readonly rest: Omit<Row, keyof JoinedAccount> } {
  return { account: { accountId, kind, status, isOperator, epoch, mac: accountMac }, rest };
}

/** Locks the account's row against changes of what is signed; undefined when it does not exist. */
export async function lockAccountRow(
  transaction: Transaction,
  accountId: string,
): Promise<Signed<AccountRow> | undefined> {
  const [row] = await transaction.query<Signed<AccountRow>>({
    name: "lock-account-row",
    text: 'SELECT account_id AS "accountId", kind, status, is_operator AS "isOperator", epoch, mac FROM account WHERE account_id = $1 FOR NO KEY UPDATE',
    values: [accountId],
  });
  return row;
}

export async function updateAccountRow(
  transaction: Transaction,
  { accountId, status, isOperator, epoch, mac }: Omit<Signed<AccountRow>, "kind">,
): Promise<void> {
  await transaction.query({
    text: "UPDATE account SET status = $2, is_operator = $3, epoch = $4, mac = $5 WHERE account_id = $1",
    values: [accountId, status, isOperator, epoch, mac],
  });
}

/** Tokens that are not revoked. */
export async function listTokenRows(
  transaction: Transaction,
  accountId: string,
): Promise<readonly Signed<TokenRow>[]> {
  return transaction.query<Signed<TokenRow>>({
    text: 'SELECT account_id AS "accountId", id, scopes, vault_ids AS "vaultIds", paths, addresses, expires_at AS "expiresAt", parent_id AS "parentId", owner_id AS "ownerId", mac FROM api_token WHERE account_id = $1 AND revoked_at IS NULL',
    values: [accountId],
  });
}

/** Routes of values that have not expired. */
export async function listTokenRouteRows(
  transaction: Transaction,
  accountId: string,
): Promise<readonly Signed<TokenRouteRow>[]> {
  return transaction.query<Signed<TokenRouteRow>>({
    text: 'SELECT account_id AS "accountId", token_id AS "tokenId", token_hash AS "tokenHash", valid_until AS "validUntil", mac FROM token_route WHERE account_id = $1 AND (valid_until IS NULL OR valid_until > now())',
    values: [accountId],
  });
}

/** Sessions that have not ended or expired. */
export async function listSessionRows(
  transaction: Transaction,
  accountId: string,
): Promise<readonly Signed<SessionRow>[]> {
  return transaction.query<Signed<SessionRow>>({
    text: 'SELECT account_id AS "accountId", id, session_hash AS "sessionHash", identity_id AS "identityId", authenticated_at AS "authenticatedAt", absolute_until AS "absoluteUntil", mac FROM session WHERE account_id = $1 AND ended_at IS NULL AND idle_until > now() AND absolute_until > now()',
    values: [accountId],
  });
}

export async function listIdentityRows(
  transaction: Transaction,
  accountId: string,
): Promise<readonly Signed<IdentityRow>[]> {
  return transaction.query<Signed<IdentityRow>>({
    text: 'SELECT account_id AS "accountId", id, provider, issuer, subject, admitted_by AS "admittedBy", confirmed_at AS "confirmedAt", mac FROM identity WHERE account_id = $1',
    values: [accountId],
  });
}

export async function listMemberRows(
  transaction: Transaction,
  accountId: string,
): Promise<readonly Signed<MemberRow>[]> {
  return transaction.query<Signed<MemberRow>>({
    text: 'SELECT account_id AS "accountId", person_id AS "personId", role, team_ids AS "teamIds", group_team_ids AS "groupTeamIds", mac FROM member WHERE account_id = $1',
    values: [accountId],
  });
}

/** Teams that a group fills, in order of creation. */
export async function listTeamGroupRows(
  transaction: Transaction,
  accountId: string,
): Promise<readonly Signed<TeamGroupRow>[]> {
  return transaction.query<Signed<TeamGroupRow>>({
    text: 'SELECT account_id AS "accountId", id AS "teamId", external_group AS "externalGroup", mac FROM team WHERE account_id = $1 AND external_group IS NOT NULL ORDER BY id',
    values: [accountId],
  });
}

export async function listVaultAccessRows(
  transaction: Transaction,
  accountId: string,
): Promise<readonly Signed<VaultAccessRow>[]> {
  return transaction.query<Signed<VaultAccessRow>>({
    text: 'SELECT account_id AS "accountId", vault_id AS "vaultId", grants, mac FROM vault_access WHERE account_id = $1',
    values: [accountId],
  });
}

/** Invitations that have not expired. */
export async function listInvitationRows(
  transaction: Transaction,
  accountId: string,
): Promise<readonly Signed<InvitationRow>[]> {
  return transaction.query<Signed<InvitationRow>>({
    text: 'SELECT account_id AS "accountId", id, secret_hash AS "secretHash", role, identity, invited_by AS "invitedBy", expires_at AS "expiresAt", mac FROM invitation WHERE account_id = $1 AND expires_at > now()',
    values: [accountId],
  });
}

export const trustRuleColumns = `account_id AS "accountId", id, provider, issuer, conditions, jwks, scopes, vault_ids AS "vaultIds", paths, lifetime_seconds AS "lifetimeSeconds", mac`;

export async function listTrustRuleRows(
  transaction: Transaction,
  accountId: string,
): Promise<readonly Signed<TrustRuleRow>[]> {
  return transaction.query<Signed<TrustRuleRow>>({
    text: `SELECT ${trustRuleColumns} FROM trust_rule WHERE account_id = $1`,
    values: [accountId],
  });
}

export type NewMac<Key> = { readonly key: Key; readonly mac: Buffer };

/** Tables of rows with MACs, and the column that tells the rows of an account apart. */
const keyColumns = {
  api_token: "id",
  session: "id",
  identity: "id",
  member: "person_id",
  team: "id",
  vault_access: "vault_id",
  invitation: "id",
  trust_rule: "id",
  proposed_change: "id",
} as const;

export async function updateMacs(
  transaction: Transaction,
  { accountId, table }: { readonly accountId: string; readonly table: keyof typeof keyColumns },
  macs: readonly NewMac<string>[],
): Promise<void> {
  if (macs.length === 0) return;
  await transaction.query({
    text: `UPDATE ${table} AS stored SET mac = new.mac FROM unnest($2::uuid[], $3::bytea[]) AS new (id, mac) WHERE stored.account_id = $1 AND stored.${keyColumns[table]} = new.id`,
    values: [accountId, macs.map(({ key }) => key), macs.map(({ mac }) => mac)],
  });
}

export async function updateTokenRouteMacs(
  transaction: Transaction,
  macs: readonly NewMac<Buffer>[],
): Promise<void> {
  if (macs.length === 0) return;
  await transaction.query({
    text: "UPDATE token_route SET mac = new.mac FROM unnest($1::bytea[], $2::bytea[]) AS new (token_hash, mac) WHERE token_route.token_hash = new.token_hash",
    values: [macs.map(({ key }) => key), macs.map(({ mac }) => mac)],
  });
}

/** Ids of all accounts, a page at a time. */
export async function listAccountIds(
  database: Pick<Database, "acrossAccounts">,
  after: string | undefined,
): Promise<readonly string[]> {
  const rows = await database.acrossAccounts((transaction) =>
    transaction.query<{ account_id: string }>({
      text: "SELECT account_id FROM account WHERE $1::uuid IS NULL OR account_id > $1 ORDER BY account_id LIMIT 500",
      values: [after ?? null],
    }),
  );
  return rows.map(({ account_id }) => account_id);
}
