import { expect, test } from "vitest";
import { fullAccess, matchesPattern, toAccess } from "./vault-access.ts";

test("a path pattern matches the paths that the server lets it match, and no others", () => {
  const cases: readonly (readonly [pattern: string, path: string, isMatch: boolean])[] = [
    ["/prod/DB", "/prod/DB", true],
    ["/prod/DB", "/prod/DB/X", false],
    ["/prod/*", "/prod/DB", true],
    ["/prod/*", "/prod/api/DB", false],
    ["/prod/*", "/prod", false],
    ["/prod/**", "/prod/api/DB", true],
    ["/prod/**", "/prod", false],
    ["/prod/**", "/production/DB", false],
    ["/*/api/**", "/prod/api/DB", true],
    ["/*/api/**", "/prod/web/DB", false],
    ["/**", "/DB", true],
  ];
  for (const [pattern, path, isMatch] of cases)
    expect(matchesPattern(pattern, path), `${pattern} for ${path}`).toBe(isMatch);
});

test("a permission of one folder shows no control for another folder", () => {
  const organisation = "0198c0de-7c1a-7f00-8000-5a1e5a1e5a1e";
  const access = toAccess({
    organisation_id: organisation,
    permissions: [
      { scopes: ["secrets:read"], paths: null },
      { scopes: ["secrets:write"], paths: ["/dev/**"] },
    ],
  });
  expect(access.organisationId).toBe(organisation);
  expect(access.allows("secrets:read", "/prod/DB")).toBe(true);
  // Implied by reading.
  expect(access.allows("secrets:list")).toBe(true);
  expect(access.allows("secrets:write")).toBe(true);
  expect(access.allows("secrets:write", "/dev/DB")).toBe(true);
  expect(access.allows("secrets:write", "/prod/DB")).toBe(false);
  expect(access.allows("secrets:delete")).toBe(false);
});

test("a vault of one's own account shows every control", () => {
  const access = toAccess({ organisation_id: null, permissions: [] });
  expect(access).toBe(fullAccess);
  expect(access.allows("secrets:destroy", "/x")).toBe(true);
});
