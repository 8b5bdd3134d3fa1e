import type { Database } from "../database/open-database.ts";

/** A token that holds now. Null limits nothing. */
export type StoredToken = {
  readonly accountId: string;
  readonly id: string;
  readonly scopes: readonly string[];
  readonly vaultIds: readonly string[] | null;
  readonly paths: readonly string[] | null;
  readonly addresses: readonly string[] | null;
  readonly expiresAt: Date | null;
};

type TokenRow = {
  id: string;
  scopes: string[];
  vault_ids: string[] | null;
  paths: string[] | null;
  addresses: string[] | null;
  expires_at: Date | null;
};

/** Where the token is, then what it may: two statements, because they may be on two servers one day. */
export async function findToken(
  database: Pick<Database, "ask" | "askInAccount">,
  tokenHash: Buffer,
): Promise<StoredToken | undefined> {
  const [route] = await database.ask<{ account_id: string; token_id: string }>({
    name: "find-token-route",
    text: "SELECT account_id, token_id FROM token_route WHERE token_hash = $1 AND (valid_until IS NULL OR valid_until > now())",
    values: [tokenHash],
  });
  if (route === undefined) return undefined;
  const [row] = await database.askInAccount<TokenRow>(route.account_id, {
    name: "find-token",
    text: "SELECT token.id, scopes, vault_ids, paths, addresses, expires_at FROM live_token AS token JOIN live_account USING (account_id) WHERE account_id = entered.account::uuid AND token.id = $2",
    values: [route.token_id],
  });
  if (row === undefined) return undefined;
  return {
    accountId: route.account_id,
    id: row.id,
    scopes: row.scopes,
    vaultIds: row.vault_ids,
    paths: row.paths,
    addresses: row.addresses,
    expiresAt: row.expires_at,
  };
}
