/**
 * @module
 * What a token may be allowed: the closed list of scopes, and what each brings with it. Pure: it reads no database and
 * knows no HTTP, so that the whole table can be tested as a matrix.
 * Imported by whoever mints tokens or decides what one may do.
 */

/** Every scope there is, with those that come with it. Reading values and listing names are apart on purpose. */
const implied = {
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
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Scope = keyof typeof implied;

// The keys of the table above are the scopes.
export const scopes = Object.keys(implied) as readonly Scope[];

/** Undefined when a word is no scope. */
export function readScope(word: string): Scope | undefined {
  return scopes.find((scope) => scope === word);
}

/** These scopes and everything that comes with them. */
export function widen(given: Iterable<Scope>): ReadonlySet<Scope> {
  const all = new Set<Scope>();
  const add = (scope: Scope): void => {
    if (all.has(scope)) return;
    all.add(scope);
    for (const other of implied[scope]) add(other);
  };
  for (const scope of given) add(scope);
  return all;
}

/** Whether everything that the second allows, the first allows too: a token mints none that can do more. */
export function covers(parent: Iterable<Scope>, child: Iterable<Scope>): boolean {
  const allowed = widen(parent);
  return [...widen(child)].every((scope) => allowed.has(scope));
}
