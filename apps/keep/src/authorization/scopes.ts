/**
 * @module
 * Authorization rules: the closed list of scopes, grants, path patterns and address ranges. Pure functions without
 * database or HTTP, so that every combination can be tested.
 * Imported by the code that creates tokens or checks what a caller may do.
 */

/** Every scope with the scopes it implies. Listing names deliberately does not imply reading values. */
const impliedScopes = {
  "vaults:read": [],
  "vaults:write": ["vaults:read"],
  "vaults:delete": ["vaults:read"],
  "secrets:list": ["vaults:read"],
  "secrets:read": ["secrets:list"],
  "secrets:write": ["secrets:list"],
  "secrets:delete": ["secrets:list"],
  "secrets:destroy": ["secrets:list"],
  "tokens:read": [],
  "tokens:write": ["tokens:read"],
  "audit:read": [],
  "keys:rotate": ["vaults:read"],
  "grants:read": ["vaults:read"],
  "grants:write": ["grants:read"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Scope = keyof typeof impliedScopes;

// Object.keys is typed as string[]; these are the keys of the table.
export const scopes = Object.keys(impliedScopes) as readonly Scope[];

/** Undefined for an unknown scope. */
export function parseScope(text: string): Scope | undefined {
  return scopes.find((scope) => scope === text);
}

/** The scopes with everything they imply. */
export function expandScopes(direct: Iterable<Scope>): ReadonlySet<Scope> {
  const all = new Set<Scope>();
  const add = (scope: Scope): void => {
    if (all.has(scope)) return;
    all.add(scope);
    for (const other of impliedScopes[scope]) add(other);
  };
  for (const scope of direct) add(scope);
  return all;
}

/** Whether the parent scopes allow everything that the child scopes allow. */
export function scopesCover(parent: Iterable<Scope>, child: Iterable<Scope>): boolean {
  const allowed = expandScopes(parent);
  return [...expandScopes(child)].every((scope) => allowed.has(scope));
}
