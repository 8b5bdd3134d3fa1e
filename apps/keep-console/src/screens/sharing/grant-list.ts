import type { Session, Vault, VaultGrant } from "@hearth-and-keep/vault-contract";

export type SharingProps = {
  readonly session: Session;
  readonly vault: Vault;
  readonly organisationId: string;
};

export type GrantList = { readonly items: readonly VaultGrant[] };

export function holderName({ holder_name: name }: VaultGrant): string {
  return name ?? "Suspended account";
}
