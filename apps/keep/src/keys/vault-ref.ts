/** Where a vault is: whose, and which. */
export type VaultRef = { readonly accountId: string; readonly vaultId: string };
