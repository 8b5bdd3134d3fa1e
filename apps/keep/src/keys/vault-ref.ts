/** A vault's id and the account it belongs to. */
export type VaultRef = { readonly accountId: string; readonly vaultId: string };
