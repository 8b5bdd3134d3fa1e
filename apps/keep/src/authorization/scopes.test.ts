import { array, assert, constantFrom, property } from "fast-check";
import { expect, test } from "vitest";
import { expandScopes, parseScope, scopes, scopesCover } from "./scopes.ts";

test("the list of scopes is closed", () => {
  for (const scope of scopes) expect(parseScope(scope)).toBe(scope);
  for (const text of ["", "secrets:*", "SECRETS:READ", "secrets:read ", "__proto__", "constructor"]) {
    expect(parseScope(text)).toBeUndefined();
  }
});

test("a scope implies what it needs; only secrets:read allows reading values", () => {
  expect([...expandScopes(["secrets:read"])].toSorted()).toEqual([
    "secrets:list",
    "secrets:read",
    "vaults:read",
  ]);
  for (const scope of scopes) {
    const reads = expandScopes([scope]).has("secrets:read");
    expect(reads, scope).toBe(scope === "secrets:read");
  }
});

test("one set of scopes covers another exactly when it allows everything the other allows", () => {
  const some = array(constantFrom(...scopes), { maxLength: 6 });
  assert(
    property(some, some, (parent, child) => {
      const [allowed, required] = [expandScopes(parent), expandScopes(child)];
      expect(scopesCover(parent, child)).toBe(required.isSubsetOf(allowed));
      expect(scopesCover(parent, parent)).toBe(true);
      expect(scopesCover([...parent, ...child], child)).toBe(true);
    }),
    { seed: 1 },
  );
  expect(scopesCover(["secrets:write"], ["secrets:read"])).toBe(false);
  expect(scopesCover([], ["vaults:read"])).toBe(false);
});
