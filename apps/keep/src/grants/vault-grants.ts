/**
 * @module
 * Grants on the vaults of an organisation: what a member or a team may do in a vault, everywhere or at some paths. Guarantees
 * that a grant which Keep did not store, or that was removed, allows nothing, and that nobody but an owner of the
 * organisation gives others more than they have.
 * Imported by `routes.ts`, `organisations/` and `vaults/`.
 */
import type { Permission } from "../authorization/grant.ts";
import { parseVaultRole, scopesOfVaultRole, type VaultRole } from "../authorization/roles.ts";

/** A member, by the account of the person, or a team. */
export type Holder = { readonly type: "person" | "team"; readonly id: string };

export type VaultGrant = {
  readonly id: string;
  readonly holder: Holder;
  readonly role: VaultRole;
  /** Path patterns; null for the whole vault. */
  readonly paths: readonly string[] | null;
  readonly createdAt: string;
  readonly createdBy: string;
};

/** The stored form, of which the MAC is computed. */
export function formatGrants(grants: readonly VaultGrant[]): string {
  return JSON.stringify(grants);
}

/** Of a text whose MAC was verified. A role that this version does not know allows nothing. */
export function parseGrants(text: string): readonly VaultGrant[] {
  // Keep wrote it with `formatGrants`.
  const grants = JSON.parse(text) as readonly VaultGrant[];
  return grants.filter(({ role }) => parseVaultRole(role) !== undefined);
}

export function toPermission(
  vaultId: string,
  { role, paths }: Pick<VaultGrant, "role" | "paths">,
): Permission {
  const whole = { scopes: scopesOfVaultRole(role), vaultIds: new Set([vaultId]) };
  return paths === null ? whole : { ...whole, paths };
}

export function isSameHolder(one: Holder, other: Holder): boolean {
  return one.type === other.type && one.id === other.id;
}

export function formatHolder({ type, id }: Holder): string {
  return `${type}:${id}`;
}
