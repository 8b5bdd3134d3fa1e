/** Where a vault is: whose, and which. */
export type VaultPlace = { readonly accountId: string; readonly vaultId: string };
