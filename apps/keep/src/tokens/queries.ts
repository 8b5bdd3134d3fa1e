import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import {
  type JoinedAccount,
  joinedAccountColumns,
  type Signed,
  splitAccount,
} from "../keys/row-integrity/queries.ts";
import type { AccountRow, TokenRouteRow } from "../keys/row-integrity/row-macs.ts";

/** A token's grant as stored; null means unrestricted. */
export type StoredGrant = {
  readonly scopes: readonly string[];
  readonly vaultIds: readonly string[] | null;
  readonly paths: readonly string[] | null;
  readonly addresses: readonly string[] | null;
  readonly expiresAt: Date | null;
};

/** A token that is not revoked, with the MACs of its rows. It may have expired. */
export type StoredToken = StoredGrant & {
  readonly accountId: string;
  readonly id: string;
  readonly validUntil: Date | null;
  readonly parentId: string | null;
  readonly ownerId: string | null;
  readonly mac: Buffer | null;
  readonly routeMac: Buffer | null;
  readonly account: Signed<AccountRow>;
};

const grantColumns = `scopes, vault_ids AS "vaultIds", paths, addresses, expires_at AS "expiresAt"`;
/** Requests that wait longer fail with "database unavailable". */
const queryTimeout = { query_timeout: 3000 };

/**
 * Finds the account by the hash, then the token in it. Two statements, so that accounts can be on different servers.
 */
export async function findToken(
  database: Pick<Database, "query" | "queryInAccount">,
  tokenHash: Buffer,
): Promise<StoredToken | undefined> {
  const [route] = await database.query<
    Pick<TokenRouteRow, "accountId" | "tokenId" | "validUntil"> & { mac: Buffer | null }
  >({
    ...queryTimeout,
    name: "find-token-route",
    text: `SELECT account_id AS "accountId", token_id AS "tokenId", valid_until AS "validUntil", mac FROM token_route WHERE token_hash = $1 AND (valid_until IS NULL OR valid_until > now())`,
    values: [tokenHash],
  });
  if (route === undefined) return undefined;
  const { accountId, tokenId, validUntil, mac: routeMac } = route;
  const [row] = await database.queryInAccount<FoundTokenRow>(accountId, {
    ...queryTimeout,
    name: "find-token",
    connection: "system",
    text: `SELECT token.id, ${grantColumns}, parent_id AS "parentId", owner_id AS "ownerId", token.mac, ${joinedAccountColumns} FROM api_token AS token JOIN account USING (account_id) WHERE account_id = entered.account::uuid AND token.id = $2 AND token.revoked_at IS NULL AND account.status = 'active'`,
    values: [tokenId],
  });
  if (row === undefined) return undefined;
  const { account, rest } = splitAccount(accountId, row);
  return { ...rest, accountId, validUntil, routeMac, account };
}

type FoundTokenRow = StoredGrant & Pick<StoredToken, "id" | "parentId" | "ownerId" | "mac"> & JoinedAccount;

/** Those of the hashes that belong to a token. */
export async function findStoredTokens(
  database: Pick<Database, "query">,
  hashes: readonly Buffer[],
): Promise<readonly Buffer[]> {
  const rows = await database.query<{ hash: Buffer }>({
    ...queryTimeout,
    name: "find-stored-tokens",
    text: "SELECT token_hash AS hash FROM token_route WHERE token_hash = ANY ($1)",
    values: [hashes],
  });
  return rows.map(({ hash }) => hash);
}

export type TokenRoute = { readonly accountId: string; readonly tokenId: string };

/** Routes of the currently valid hashes. */
export function findRoutes(
  database: Pick<Database, "query">,
  hashes: readonly Buffer[],
): Promise<readonly TokenRoute[]> {
  return database.query<TokenRoute>({
    ...queryTimeout,
    text: `SELECT account_id AS "accountId", token_id AS "tokenId" FROM token_route WHERE token_hash = ANY ($1) AND (valid_until IS NULL OR valid_until > now())`,
    values: [hashes],
  });
}

/** Everything about a token except its value. */
export type TokenRow = StoredGrant & {
  readonly id: string;
  readonly name: string;
  readonly ownerId: string | null;
  readonly tokenHash: Buffer;
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly rotatedAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly lastUsedAddress: string | null;
  readonly revokedAt: Date | null;
  readonly revokeReason: string | null;
};

const tokenColumns = `id, name, owner_id AS "ownerId", token_hash AS "tokenHash", ${grantColumns}, created_at AS "createdAt", created_by AS "createdBy", rotated_at AS "rotatedAt", last_used_at AS "lastUsedAt", last_used_address AS "lastUsedAddress", revoked_at AS "revokedAt", revoke_reason AS "revokeReason"`;

export type TokenPage = {
  readonly isRevoked: boolean;
  /** Only tokens of this owner, and those without one; null for all. */
  readonly visibleTo: string | null;
  readonly after: string | null;
  readonly limit: number;
};

/** In order of creation. */
export function listTokens(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
  { isRevoked, visibleTo, after, limit }: TokenPage,
): Promise<readonly TokenRow[]> {
  return database.queryInAccount<TokenRow>(accountId, {
    name: "list-tokens",
    text: `SELECT ${tokenColumns} FROM api_token WHERE account_id = entered.account::uuid AND (revoked_at IS NOT NULL) = $2 AND ($3::uuid IS NULL OR id > $3) AND ($5::uuid IS NULL OR owner_id IS NULL OR owner_id = $5) ORDER BY id LIMIT $4`,
    values: [isRevoked, after, limit, visibleTo],
  });
}

export async function readTokenRow(
  transaction: Transaction,
  { accountId, tokenId }: TokenRoute,
): Promise<TokenRow | undefined> {
  const [row] = await transaction.query<TokenRow>({
    name: "read-token",
    text: `SELECT ${tokenColumns} FROM api_token WHERE account_id = $1 AND id = $2`,
    values: [accountId, tokenId],
  });
  return row;
}

export type TokenState = {
  /** Active tokens of the owner, without those of trust rules. */
  readonly live: number;
  /** Active tokens of trust rules. */
  readonly exchanged: number;
  readonly isParentLive: boolean;
  readonly now: Date;
};

const isExchanged = "created_by LIKE 'trust-rule:%'";

export async function readTokenState(
  transaction: Transaction,
  {
    accountId,
    parentId,
    ownerId,
  }: { readonly accountId: string; readonly parentId: string | null; readonly ownerId: string | null },
): Promise<TokenState> {
  const [row] = await transaction.query<TokenState>({
    name: "read-token-state",
    text: `SELECT count(*) FILTER (WHERE NOT ${isExchanged} AND owner_id IS NOT DISTINCT FROM $3)::integer AS live, count(*) FILTER (WHERE ${isExchanged})::integer AS exchanged, coalesce(bool_or(id = $2), false) AS "isParentLive", clock_timestamp() AS now FROM live_token WHERE account_id = $1`,
    values: [accountId, parentId, ownerId],
  });
  if (row === undefined) throw new Error("Aggregate query returned no row");
  return row;
}

/** How many of these vaults exist. */
export async function countVaults(
  transaction: Transaction,
  accountId: string,
  vaultIds: readonly string[],
): Promise<number> {
  const [row] = await transaction.query<{ count: number }>({
    text: "SELECT count(*)::integer AS count FROM live_vault WHERE account_id = $1 AND id = ANY ($2)",
    values: [accountId, vaultIds],
  });
  return row?.count ?? 0;
}

export type NewTokenRow = StoredGrant & {
  readonly accountId: string;
  readonly id: string;
  readonly name: string;
  readonly tokenHash: Buffer;
  readonly parentId: string | null;
  readonly ownerId: string | null;
  readonly createdBy: string;
  readonly mac: Buffer;
  readonly routeMac: Buffer;
};

export async function insertToken(transaction: Transaction, token: NewTokenRow): Promise<void> {
  await transaction.query({
    name: "insert-token",
    text: "INSERT INTO api_token (account_id, id, name, token_hash, scopes, vault_ids, paths, addresses, expires_at, parent_id, owner_id, created_by, mac) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    values: [
      token.accountId,
      token.id,
      token.name,
      token.tokenHash,
      token.scopes,
      token.vaultIds,
      token.paths,
      token.addresses,
      token.expiresAt,
      token.parentId,
      token.ownerId,
      token.createdBy,
      token.mac,
    ],
  });
  const { accountId, id: tokenId, tokenHash, routeMac } = token;
  await insertRoute(transaction, { accountId, tokenId }, { tokenHash, mac: routeMac });
}

export async function insertRoute(
  transaction: Transaction,
  { accountId, tokenId }: TokenRoute,
  { tokenHash, mac }: { readonly tokenHash: Buffer; readonly mac: Buffer },
): Promise<void> {
  await transaction.query({
    name: "insert-token-route",
    text: "INSERT INTO token_route (token_hash, account_id, token_id, mac) VALUES ($1, $2, $3, $4)",
    values: [tokenHash, accountId, tokenId, mac],
  });
}

export type RouteExpiry = {
  readonly tokenHash: Buffer;
  readonly validUntil: Date;
  readonly mac: Buffer;
};

export async function updateRouteExpiries(
  transaction: Transaction,
  routes: readonly RouteExpiry[],
): Promise<void> {
  await transaction.query({
    name: "update-route-expiries",
    text: "UPDATE token_route AS route SET valid_until = new.valid_until, mac = new.mac FROM unnest($1::bytea[], $2::timestamptz[], $3::bytea[]) AS new (token_hash, valid_until, mac) WHERE route.token_hash = new.token_hash",
    values: [
      routes.map(({ tokenHash }) => tokenHash),
      routes.map(({ validUntil }) => validUntil),
      routes.map(({ mac }) => mac),
    ],
  });
}

/** `by` is who gets the new value, as `formatActor` writes it. */
export async function updateTokenHash(
  transaction: Transaction,
  { accountId, tokenId }: TokenRoute,
  { tokenHash, by }: { readonly tokenHash: Buffer; readonly by: string },
): Promise<void> {
  await transaction.query({
    name: "update-token-hash",
    // The last 64 who have rotated it, each once.
    text: "UPDATE api_token SET token_hash = $3, rotated_at = now(), rotated_by = (array_remove(rotated_by, $4) || $4::text)[greatest(1, cardinality(array_remove(rotated_by, $4)) - 62):] WHERE account_id = $1 AND id = $2",
    values: [accountId, tokenId, tokenHash, by],
  });
}

export async function updateTokenName(
  transaction: Transaction,
  { accountId, tokenId }: TokenRoute,
  name: string,
): Promise<void> {
  await transaction.query({
    text: "UPDATE api_token SET name = $3 WHERE account_id = $1 AND id = $2",
    values: [accountId, tokenId, name],
  });
}

/** Whether the second token is the first or one of its descendants. */
export async function isDescendant(
  transaction: Transaction,
  { accountId, tokenId }: TokenRoute,
  descendantId: string,
): Promise<boolean> {
  const rows = await transaction.query({
    text: "WITH RECURSIVE ancestor AS (SELECT id, parent_id FROM api_token WHERE account_id = $1 AND id = $3 UNION SELECT token.id, token.parent_id FROM api_token AS token JOIN ancestor ON token.id = ancestor.parent_id WHERE token.account_id = $1) SELECT FROM ancestor WHERE id = $2",
    values: [accountId, tokenId, descendantId],
  });
  return rows.length > 0;
}

export type RevokedToken = { readonly id: string; readonly reason: string };

/** Revokes the token and its descendants, or those of a trust rule; returns those that were still active. */
export function revokeTokens(
  transaction: Transaction,
  { accountId, tokenId }: TokenRoute,
  reason: "asked" | "leaked",
): Promise<readonly RevokedToken[]> {
  return transaction.query<RevokedToken>({
    name: "revoke-tokens",
    text: "WITH RECURSIVE family AS (SELECT $2::uuid AS id UNION SELECT child.id FROM api_token AS child JOIN family ON child.parent_id = family.id WHERE child.account_id = $1) UPDATE api_token AS token SET revoked_at = now(), revoke_reason = CASE WHEN token.id = $2::uuid THEN $3 ELSE 'parent-revoked' END FROM family WHERE token.account_id = $1 AND token.id = family.id AND token.revoked_at IS NULL RETURNING token.id, token.revoke_reason AS reason",
    values: [accountId, tokenId, reason],
  });
}

/** Revokes the tokens of a member of an organisation; returns those that were still active. */
export function revokeOwnedTokens(
  transaction: Transaction,
  accountId: string,
  ownerId: string,
): Promise<readonly RevokedToken[]> {
  return transaction.query<RevokedToken>({
    text: "UPDATE api_token SET revoked_at = now(), revoke_reason = 'member-removed' WHERE account_id = $1 AND owner_id = $2 AND revoked_at IS NULL RETURNING id, revoke_reason AS reason",
    values: [accountId, ownerId],
  });
}

export type TokenUseRow = { readonly id: string; readonly at: Date; readonly address: string };

export async function updateLastUsed(
  transaction: Transaction,
  accountId: string,
  uses: readonly TokenUseRow[],
): Promise<void> {
  await transaction.query({
    name: "update-last-used",
    text: "UPDATE api_token AS token SET last_used_at = used.at, last_used_address = used.address FROM unnest($2::uuid[], $3::timestamptz[], $4::text[]) AS used (id, at, address) WHERE token.account_id = $1 AND token.id = used.id AND (token.last_used_at IS NULL OR token.last_used_at < used.at)",
    values: [
      accountId,
      uses.map(({ id }) => id),
      uses.map(({ at }) => at),
      uses.map(({ address }) => address),
    ],
  });
}
