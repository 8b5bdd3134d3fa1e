/** Scopes that another one includes; asking for both gives the wider one alone. */
const includedIn: ReadonlyMap<string, string> = new Map([
  ["user:email", "user"],
  ["read:user", "user"],
  ["user:follow", "user"],
]);

/** Asked for with spaces, granted as a list without repetitions; the token endpoint joins it with commas. */
export function grantScopes(asked: string): readonly string[] {
  const scopes = new Set(asked.split(/[\s,]+/).filter((scope) => scope !== ""));
  return [...scopes].filter((scope) => !scopes.has(includedIn.get(scope) ?? ""));
}

export function includesScope(granted: readonly string[], needed: string): boolean {
  return granted.includes(needed) || granted.includes(includedIn.get(needed) ?? "");
}
