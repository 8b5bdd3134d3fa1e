import { array, assert, constantFrom, property } from "fast-check";
import { expect, test } from "vitest";
import { covers, readScope, scopes, widen } from "./scopes.ts";

test("the list of scopes is closed", () => {
  for (const scope of scopes) expect(readScope(scope)).toBe(scope);
  for (const word of ["", "secrets:*", "SECRETS:READ", "secrets:read ", "__proto__", "constructor"]) {
    expect(readScope(word)).toBeUndefined();
  }
});

test("a scope brings what it needs, and no values to those who may only list, write or delete", () => {
  expect([...widen(["secrets:read"])].toSorted()).toEqual(["secrets:list", "secrets:read", "vaults:read"]);
  for (const scope of scopes) {
    const reads = widen([scope]).has("secrets:read");
    expect(reads, scope).toBe(scope === "secrets:read");
  }
});

test("one set of scopes covers another exactly when it allows everything the other allows", () => {
  const some = array(constantFrom(...scopes), { maxLength: 6 });
  assert(
    property(some, some, (parent, child) => {
      const [allowed, wanted] = [widen(parent), widen(child)];
      expect(covers(parent, child)).toBe(wanted.isSubsetOf(allowed));
      expect(covers(parent, parent)).toBe(true);
      expect(covers([...parent, ...child], child)).toBe(true);
    }),
  );
  expect(covers(["secrets:write"], ["secrets:read"])).toBe(false);
  expect(covers([], ["vaults:read"])).toBe(false);
});
