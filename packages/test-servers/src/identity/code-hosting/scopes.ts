/** Scopes that are included in another one; requesting both grants only the wider one. */
const includedIn: ReadonlyMap<string, string> = new Map([
  ["user:email", "user"],
  ["read:user", "user"],
  ["user:follow", "user"],
]);

/** Parses space-separated scopes into a list without duplicates; the token endpoint joins it with commas. */
export function grantScopes(requested: string): readonly string[] {
  const scopes = new Set(requested.split(/[\s,]+/).filter((scope) => scope !== ""));
  return [...scopes].filter((scope) => !scopes.has(includedIn.get(scope) ?? ""));
}

export function includesScope(granted: readonly string[], needed: string): boolean {
  return granted.includes(needed) || granted.includes(includedIn.get(needed) ?? "");
}
