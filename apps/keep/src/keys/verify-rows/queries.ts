import type { Database } from "../../database/open-database.ts";
import type { StoredSecret } from "../../secrets/verify-stored.ts";
import type { EncryptedVersion } from "../../secrets/versions/queries.ts";
import { type Signed, trustRuleColumns } from "../row-integrity/queries.ts";
import type {
  AccountRow,
  IdentityRow,
  InvitationRow,
  MemberRow,
  SessionRow,
  TokenRouteRow,
  TokenRow,
  TrustRuleRow,
  VaultAccessRow,
} from "../row-integrity/row-macs.ts";
import type { VaultRef } from "../vault-ref.ts";

type InAccount = Pick<Database, "queryInAccount">;

/** Rows of a page. Few versions at a time, because of their values. */
export const pageSizes = { rows: 200, secrets: 100, versions: 20, events: 1000 } as const;

export async function readAccountRow(
  database: InAccount,
  accountId: string,
): Promise<Signed<AccountRow> | undefined> {
  const [row] = await database.queryInAccount<Signed<AccountRow>>(accountId, {
    text: 'SELECT account_id AS "accountId", kind, status, is_operator AS "isOperator", epoch, mac FROM account WHERE account_id = entered.account::uuid',
  });
  return row;
}

export type StoredTokenRow = Signed<TokenRow> & { readonly tokenHash: Buffer; readonly isRevoked: boolean };

export function listTokens(
  database: InAccount,
  accountId: string,
  after: string | null,
): Promise<readonly StoredTokenRow[]> {
  return database.queryInAccount<StoredTokenRow>(accountId, {
    text: `SELECT account_id AS "accountId", id, scopes, vault_ids AS "vaultIds", paths, addresses, expires_at AS "expiresAt", parent_id AS "parentId", owner_id AS "ownerId", token_hash AS "tokenHash", revoked_at IS NOT NULL AS "isRevoked", mac FROM api_token WHERE account_id = entered.account::uuid AND ($2::uuid IS NULL OR id > $2) ORDER BY api_token.id LIMIT ${pageSizes.rows}`,
    values: [after],
  });
}

export type StoredTokenRoute = Signed<TokenRouteRow> & { readonly isExpired: boolean };

export function listTokenRoutes(
  database: Pick<Database, "query">,
  accountId: string,
): Promise<readonly StoredTokenRoute[]> {
  return database.query<StoredTokenRoute>({
    text: 'SELECT account_id AS "accountId", token_id AS "tokenId", token_hash AS "tokenHash", valid_until AS "validUntil", mac, coalesce(valid_until <= now(), false) AS "isExpired" FROM token_route WHERE account_id = $1 ORDER BY token_id, token_hash',
    values: [accountId],
  });
}

export type StoredSessionRow = Signed<SessionRow> & {
  readonly isEnded: boolean;
  readonly isExpired: boolean;
};

export function listSessions(
  database: InAccount,
  accountId: string,
  after: string | null,
): Promise<readonly StoredSessionRow[]> {
  return database.queryInAccount<StoredSessionRow>(accountId, {
    text: `SELECT account_id AS "accountId", id, session_hash AS "sessionHash", identity_id AS "identityId", authenticated_at AS "authenticatedAt", absolute_until AS "absoluteUntil", mac, ended_at IS NOT NULL AS "isEnded", least(idle_until, absolute_until) <= now() AS "isExpired" FROM session WHERE account_id = entered.account::uuid AND ($2::uuid IS NULL OR id > $2) ORDER BY session.id LIMIT ${pageSizes.rows}`,
    values: [after],
  });
}

export type SessionRouteRow = { readonly sessionHash: Buffer; readonly sessionId: string };

export function listSessionRoutes(
  database: Pick<Database, "query">,
  accountId: string,
): Promise<readonly SessionRouteRow[]> {
  return database.query<SessionRouteRow>({
    text: 'SELECT session_hash AS "sessionHash", session_id AS "sessionId" FROM session_route WHERE account_id = $1',
    values: [accountId],
  });
}

export function listIdentities(
  database: InAccount,
  accountId: string,
  after: string | null,
): Promise<readonly Signed<IdentityRow>[]> {
  return database.queryInAccount<Signed<IdentityRow>>(accountId, {
    text: `SELECT account_id AS "accountId", id, provider, issuer, subject, admitted_by AS "admittedBy", confirmed_at AS "confirmedAt", mac FROM identity WHERE account_id = entered.account::uuid AND ($2::uuid IS NULL OR id > $2) ORDER BY identity.id LIMIT ${pageSizes.rows}`,
    values: [after],
  });
}

export type IdentityRouteRow = {
  readonly identityId: string;
  readonly issuer: string;
  readonly subject: string;
};

export function listIdentityRoutes(
  database: Pick<Database, "query">,
  accountId: string,
): Promise<readonly IdentityRouteRow[]> {
  return database.query<IdentityRouteRow>({
    text: 'SELECT identity_id AS "identityId", issuer, subject FROM identity_route WHERE account_id = $1',
    values: [accountId],
  });
}

/** The people whose routes lead to this organisation. */
export async function listMemberRoutes(
  database: Pick<Database, "query">,
  accountId: string,
): Promise<readonly string[]> {
  const rows = await database.query<{ person: string }>({
    text: "SELECT person_id AS person FROM member_route WHERE account_id = $1",
    values: [accountId],
  });
  return rows.map(({ person }) => person);
}

export function listMembers(
  database: InAccount,
  accountId: string,
  after: string | null,
): Promise<readonly Signed<MemberRow>[]> {
  return database.queryInAccount<Signed<MemberRow>>(accountId, {
    text: `SELECT account_id AS "accountId", person_id AS "personId", role, team_ids AS "teamIds", group_team_ids AS "groupTeamIds", mac FROM member WHERE account_id = entered.account::uuid AND ($2::uuid IS NULL OR person_id > $2) ORDER BY member.person_id LIMIT ${pageSizes.rows}`,
    values: [after],
  });
}

export function listVaultAccess(
  database: InAccount,
  accountId: string,
): Promise<readonly Signed<VaultAccessRow>[]> {
  return database.queryInAccount<Signed<VaultAccessRow>>(accountId, {
    text: 'SELECT account_id AS "accountId", vault_id AS "vaultId", grants, mac FROM vault_access WHERE account_id = entered.account::uuid ORDER BY vault_id',
  });
}

export type StoredTeam = {
  readonly id: string;
  readonly externalGroup: string | null;
  readonly mac: Buffer | null;
};

export function listTeams(database: InAccount, accountId: string): Promise<readonly StoredTeam[]> {
  return database.queryInAccount<StoredTeam>(accountId, {
    text: 'SELECT id, external_group AS "externalGroup", mac FROM team WHERE account_id = entered.account::uuid ORDER BY id',
  });
}

/** The vaults whose routes lead to this organisation. */
export async function listVaultRoutes(
  database: Pick<Database, "query">,
  accountId: string,
): Promise<readonly string[]> {
  const rows = await database.query<{ vault: string }>({
    text: "SELECT vault_id AS vault FROM vault_route WHERE account_id = $1",
    values: [accountId],
  });
  return rows.map(({ vault }) => vault);
}

export type StoredInvitation = Signed<InvitationRow> & { readonly isExpired: boolean };

export function listInvitations(
  database: InAccount,
  accountId: string,
): Promise<readonly StoredInvitation[]> {
  return database.queryInAccount<StoredInvitation>(accountId, {
    text: 'SELECT account_id AS "accountId", id, secret_hash AS "secretHash", role, identity, invited_by AS "invitedBy", expires_at AS "expiresAt", mac, expires_at <= now() AS "isExpired" FROM invitation WHERE account_id = entered.account::uuid',
  });
}

export type LoggedEvent = { readonly number: number; readonly body: string };

/** What the log says of changes to the account itself, oldest first. */
export async function listAccountEvents(
  database: InAccount,
  accountId: string,
  after: number,
): Promise<readonly LoggedEvent[]> {
  const rows = await database.queryInAccount<{ number: string; body: string }>(accountId, {
    text: `SELECT number, body FROM audit_record WHERE account_id = entered.account::uuid AND stream_id = entered.account::uuid AND outcome = 'changed' AND number > $2 AND body IS NOT NULL ORDER BY audit_record.number, audit_record.log_id LIMIT ${pageSizes.events}`,
    values: [after],
  });
  return rows.map(({ number, body }) => ({ number: Number(number), body }));
}

export type VaultIdRow = { readonly id: string };

export async function listVaultIds(
  database: InAccount,
  accountId: string,
  after: string | null,
): Promise<readonly VaultIdRow[]> {
  return database.queryInAccount<VaultIdRow>(accountId, {
    text: `SELECT id FROM vault WHERE account_id = entered.account::uuid AND ($2::uuid IS NULL OR id > $2) ORDER BY vault.id LIMIT ${pageSizes.rows}`,
    values: [after],
  });
}

/** The highest revision of anything in the vault that the log, or the chain of an earlier version, says; 0 if none does. */
export async function readLoggedRevision(
  database: InAccount,
  { accountId, vaultId }: VaultRef,
): Promise<number> {
  const [row] = await database.queryInAccount<{ revision: string | null }>(accountId, {
    text: "SELECT greatest((SELECT max(revision) FROM audit_record WHERE account_id = entered.account::uuid AND stream_id = $2), (SELECT max(revision) FROM audit_event WHERE account_id = entered.account::uuid AND chain_id = $2)) AS revision FROM (SELECT entered.account) AS account",
    values: [vaultId],
  });
  return Number(row?.revision ?? 0);
}

export type VaultKeyState = { readonly version: number; readonly isActive: boolean };

export function listKeyVersions(
  database: InAccount,
  { accountId, vaultId }: VaultRef,
): Promise<readonly VaultKeyState[]> {
  return database.queryInAccount<VaultKeyState>(accountId, {
    text: `SELECT version, status = 'active' AS "isActive" FROM vault_key WHERE account_id = entered.account::uuid AND vault_id = $2 ORDER BY vault_key.version`,
    values: [vaultId],
  });
}

export function listSecretRows(
  database: InAccount,
  { accountId, vaultId }: VaultRef,
  after: string | null,
): Promise<readonly StoredSecret[]> {
  return database.queryInAccount<StoredSecret>(accountId, {
    text: `SELECT id, folder, name, type, current_version, revision::float8 AS revision, tags, note_sealed, egress, destroyed_versions, key_version, deleted_at, mark FROM secret WHERE account_id = entered.account::uuid AND vault_id = $2 AND key_version > 0 AND ($3::uuid IS NULL OR id > $3) ORDER BY secret.id LIMIT ${pageSizes.secrets}`,
    values: [vaultId, after],
  });
}

export type StoredVersion = EncryptedVersion & { readonly secret_id: string };
export type VersionCursor = Pick<StoredVersion, "secret_id" | "version"> | undefined;

export function listVersionRows(
  database: InAccount,
  { accountId, vaultId, ids }: VaultRef & { readonly ids: readonly string[] },
  after: VersionCursor,
): Promise<readonly StoredVersion[]> {
  return database.queryInAccount<StoredVersion>(accountId, {
    text: `SELECT secret_id, version, type, key_version, sealed FROM secret_version WHERE account_id = entered.account::uuid AND vault_id = $2 AND secret_id = ANY ($3::uuid[]) AND ($4::uuid IS NULL OR (secret_id, version) > ($4, $5::int)) ORDER BY secret_version.secret_id, secret_version.version LIMIT ${pageSizes.versions}`,
    values: [vaultId, ids, after?.secret_id ?? null, after?.version ?? null],
  });
}

export type OrphanRow = { readonly table: string; readonly id: string };

const selectOutsideVaults = (table: string, id: string): string =>
  `SELECT '${table}' AS "table", ${id} AS id FROM ${table} AS row WHERE row.account_id = entered.account::uuid AND NOT EXISTS (SELECT FROM vault WHERE vault.account_id = row.account_id AND vault.id = row.vault_id)`;

/** Rows of the account that belong to no vault or secret of it. */
export function listOrphans(database: InAccount, accountId: string): Promise<readonly OrphanRow[]> {
  return database.queryInAccount<OrphanRow>(accountId, {
    text: [
      selectOutsideVaults("vault_key", "row.vault_id::text"),
      selectOutsideVaults("secret", "row.id::text"),
      selectOutsideVaults("folder", "row.vault_id::text || row.path"),
      `SELECT 'secret_version', row.secret_id::text FROM secret_version AS row WHERE row.account_id = entered.account::uuid AND NOT EXISTS (SELECT FROM secret WHERE secret.account_id = row.account_id AND secret.vault_id = row.vault_id AND secret.id = row.secret_id)`,
    ].join(" UNION ALL "),
  });
}

/** Accounts that have rows of some table, and no row of their own. */
export async function listMissingAccounts(
  database: Pick<Database, "acrossAccounts" | "query">,
): Promise<readonly string[]> {
  const tables = ["audit_stream", "api_token", "session", "vault", "vault_key", "secret"];
  const stored = await database.acrossAccounts((transaction) =>
    transaction.query<{ account_id: string }>({
      text: tables
        .map(
          (table) =>
            `SELECT row.account_id FROM ${table} AS row WHERE NOT EXISTS (SELECT FROM account WHERE account.account_id = row.account_id)`,
        )
        .join(" UNION "),
    }),
  );
  return stored.map(({ account_id }) => account_id);
}

export type FolderPath = { readonly path: string };

export function listFolderRows(
  database: InAccount,
  { accountId, vaultId }: VaultRef,
  after: string | null,
): Promise<readonly FolderPath[]> {
  return database.queryInAccount<FolderPath>(accountId, {
    text: `SELECT path FROM folder WHERE account_id = entered.account::uuid AND vault_id = $2 AND ($3::text IS NULL OR path > $3::text COLLATE "C") ORDER BY folder.path LIMIT ${pageSizes.rows}`,
    values: [vaultId, after],
  });
}

/** What the log says of changes in a vault, oldest first. */
export async function listVaultEvents(
  database: InAccount,
  { accountId, vaultId }: VaultRef,
  after: number,
): Promise<readonly LoggedEvent[]> {
  const rows = await database.queryInAccount<{ number: string; body: string }>(accountId, {
    text: `SELECT number, body FROM audit_record WHERE account_id = entered.account::uuid AND stream_id = $2 AND outcome = 'changed' AND number > $3 AND body IS NOT NULL ORDER BY audit_record.number, audit_record.log_id LIMIT ${pageSizes.events}`,
    values: [vaultId, after],
  });
  return rows.map(({ number, body }) => ({ number: Number(number), body }));
}

export function listTrustRules(
  database: InAccount,
  accountId: string,
): Promise<readonly Signed<TrustRuleRow>[]> {
  return database.queryInAccount<Signed<TrustRuleRow>>(accountId, {
    text: `SELECT ${trustRuleColumns} FROM trust_rule WHERE account_id = entered.account::uuid ORDER BY id`,
  });
}
