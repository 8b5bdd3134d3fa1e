import type { Permission } from "./grant.ts";
import { expandScopes, type Scope } from "./scopes.ts";

/** What a member of an organisation may do in it. */
const rightsOf = {
  owner: [
    "organisation:read",
    "organisation:write",
    "members:read",
    "members:write",
    "audit:read",
    "vaults:create",
    "tokens:use",
    "trust-rules:write",
  ],
  member: ["organisation:read", "members:read", "vaults:create", "tokens:use"],
  auditor: ["organisation:read", "members:read", "audit:read", "tokens:use"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Role = keyof typeof rightsOf;
export type OrganisationRight = (typeof rightsOf)[Role][number];

// Object.keys is typed as string[]; these are the keys of the table.
const roles = Object.keys(rightsOf) as readonly Role[];

/** Undefined for an unknown role. */
export function parseRole(text: string): Role | undefined {
  return roles.find((role) => role === text);
}

export function roleAllows(role: Role, right: OrganisationRight): boolean {
  const rights: readonly OrganisationRight[] = rightsOf[role];
  return rights.includes(right);
}

/** In all vaults of the organisation. No role lists secrets or reads a value; a grant does. */
const permissionsOf: Readonly<Record<Role, readonly Permission[]>> = {
  owner: toPermissions([
    "vaults:write",
    "vaults:delete",
    "grants:write",
    "audit:read",
    "keys:rotate",
    "tokens:write",
  ]),
  member: [],
  auditor: toPermissions(["vaults:read", "audit:read"]),
};

function toPermissions(scopes: readonly Scope[]): readonly Permission[] {
  return [{ scopes: expandScopes(scopes) }];
}

export function permissionsOfRole(role: Role): readonly Permission[] {
  return permissionsOf[role];
}

/** What a grant on a vault allows there. */
const scopesOf = {
  reader: expandScopes(["secrets:read"]),
  editor: expandScopes(["secrets:read", "secrets:write", "secrets:delete"]),
  manager: expandScopes([
    "secrets:read",
    "secrets:write",
    "secrets:delete",
    "secrets:destroy",
    "vaults:write",
    "vaults:delete",
    "grants:write",
    "audit:read",
    "keys:rotate",
  ]),
} as const satisfies Readonly<Record<string, ReadonlySet<Scope>>>;

export type VaultRole = keyof typeof scopesOf;

// Object.keys is typed as string[]; these are the keys of the table.
const vaultRoles = Object.keys(scopesOf) as readonly VaultRole[];

/** Undefined for an unknown role. */
export function parseVaultRole(text: string): VaultRole | undefined {
  return vaultRoles.find((role) => role === text);
}

export function scopesOfVaultRole(role: VaultRole): ReadonlySet<Scope> {
  return scopesOf[role];
}
