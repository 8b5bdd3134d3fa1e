import type { ApiToken } from "@hearth-and-keep/vault-contract";

export type Scope = ApiToken["scopes"][number];

export type ScopeDescription = {
  readonly scope: Scope;
  readonly title: string;
  readonly description: string;
  /** Scopes that the server grants along with this one. */
  readonly implies: readonly Scope[];
};

export type ScopeGroup = {
  readonly title: string;
  readonly description: string;
  readonly scopes: readonly ScopeDescription[];
};

/** Ordered by privilege, lowest first. */
export const scopeGroups: readonly ScopeGroup[] = [
  {
    title: "Read",
    description: "Read-only.",
    scopes: [
      {
        scope: "secrets:read",
        title: "Read secrets",
        description: "Read secret values.",
        implies: ["secrets:list"],
      },
      {
        scope: "secrets:list",
        title: "List secrets",
        description: "List names, tags and versions, without values.",
        implies: ["vaults:read"],
      },
      {
        scope: "vaults:read",
        title: "List vaults",
        description: "List vaults and their settings.",
        implies: [],
      },
      {
        scope: "tokens:read",
        title: "List tokens",
        description: "List tokens, without their values.",
        implies: [],
      },
      {
        scope: "grants:read",
        title: "See who has access to vaults",
        description: "List the members and teams with whom the vaults of an organisation are shared.",
        implies: ["vaults:read"],
      },
      {
        scope: "audit:read",
        title: "Read audit logs",
        description: "Read, verify and export audit logs.",
        implies: [],
      },
    ],
  },
  {
    title: "Write",
    description: "Reversible changes.",
    scopes: [
      {
        scope: "secrets:write",
        title: "Write secrets",
        description: "Create secrets, versions and folders. Does not allow reading values.",
        implies: ["secrets:list"],
      },
      {
        scope: "secrets:delete",
        title: "Delete secrets",
        description: "Delete secrets, restorable for 30 days.",
        implies: ["secrets:list"],
      },
      {
        scope: "vaults:write",
        title: "Manage vaults",
        description: "Create and rename vaults, and change their settings.",
        implies: ["vaults:read"],
      },
    ],
  },
  {
    title: "Administer",
    description: "Few programs need these. A leaked token can do lasting damage.",
    scopes: [
      {
        scope: "tokens:write",
        title: "Manage tokens",
        description: "Create, rotate and revoke tokens, limited to this token's own permissions.",
        implies: ["tokens:read"],
      },
      {
        scope: "grants:write",
        title: "Share vaults",
        description: "Share the vaults of an organisation with its members and teams, and end it.",
        implies: ["grants:read"],
      },
      {
        scope: "vaults:delete",
        title: "Delete vaults",
        description: "Delete vaults with all their secrets, restorable for 30 days.",
        implies: ["vaults:read"],
      },
      {
        scope: "secrets:destroy",
        title: "Delete permanently",
        description: "Permanently delete versions, secrets and vaults. Cannot be undone.",
        implies: ["secrets:list"],
      },
      {
        scope: "keys:rotate",
        title: "Rotate keys",
        description: "Create a new vault key and re-encrypt the vault with it.",
        implies: ["vaults:read"],
      },
    ],
  },
];

const scopesById = new Map(scopeGroups.flatMap(({ scopes }) => scopes).map((entry) => [entry.scope, entry]));

export function scopeTitle(scope: Scope): string {
  return scopesById.get(scope)?.title ?? scope;
}

/** The chosen scope that implies this one, if any. */
export function impliedBy(scope: Scope, chosen: ReadonlySet<Scope>): Scope | undefined {
  return [...chosen].find((other) => other !== scope && implies(other, scope));
}

/** The chosen scopes without those that others imply. */
export function minimalScopes(chosen: ReadonlySet<Scope>): readonly Scope[] {
  return [...scopesById.keys()].filter(
    (scope) => chosen.has(scope) && impliedBy(scope, chosen) === undefined,
  );
}

function implies(scope: Scope, other: Scope): boolean {
  return scopesById.get(scope)?.implies.some((next) => next === other || implies(next, other)) ?? false;
}
