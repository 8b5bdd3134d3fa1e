import { expect, test } from "vitest";
import {
  type OrganisationRight,
  parseRole,
  parseVaultRole,
  permissionsOfRole,
  type Role,
  roleAllows,
  scopesOfVaultRole,
  type VaultRole,
} from "./roles.ts";
import { type Scope, scopes } from "./scopes.ts";

const table: Readonly<Record<OrganisationRight, readonly Role[]>> = {
  "organisation:read": ["owner", "member", "auditor"],
  "organisation:write": ["owner"],
  "members:read": ["owner", "member", "auditor"],
  "members:write": ["owner"],
  "audit:read": ["owner", "auditor"],
  "vaults:create": ["owner", "member"],
  "tokens:use": ["owner", "member", "auditor"],
  "trust-rules:write": ["owner"],
};

test.each(Object.entries(table))("%s belongs to exactly these roles", (right, expected) => {
  const roles: readonly Role[] = ["owner", "member", "auditor"];
  // A key of the table.
  expect(roles.filter((role) => roleAllows(role, right as OrganisationRight))).toEqual(expected);
});

/** Which roles may do it in every vault of the organisation, and which grants allow it in one. */
const vaultTable: Readonly<Record<Scope, readonly (Role | VaultRole)[]>> = {
  "vaults:read": ["owner", "auditor", "reader", "editor", "manager"],
  "vaults:write": ["owner", "manager"],
  "vaults:delete": ["owner", "manager"],
  "secrets:list": ["reader", "editor", "manager"],
  "secrets:read": ["reader", "editor", "manager"],
  "secrets:write": ["editor", "manager"],
  "secrets:delete": ["editor", "manager"],
  "secrets:destroy": ["manager"],
  "tokens:read": ["owner"],
  "tokens:write": ["owner"],
  "audit:read": ["owner", "auditor", "manager"],
  "keys:rotate": ["owner", "manager"],
  "grants:read": ["owner", "manager"],
  "grants:write": ["owner", "manager"],
};

test.each(Object.entries(vaultTable))("%s is allowed by exactly these roles and grants", (text, expected) => {
  // A key of the table.
  const scope = text as Scope;
  const roles = (["owner", "member", "auditor"] as const).filter((role) =>
    permissionsOfRole(role).some((permission) => permission.scopes.has(scope)),
  );
  const grants = (["reader", "editor", "manager"] as const).filter((role) =>
    scopesOfVaultRole(role).has(scope),
  );
  expect([...roles, ...grants]).toEqual(expected);
});

test("no role in an organisation lists the secrets of a vault or reads a value", () => {
  const secretScopes = scopes.filter((scope) => scope.startsWith("secrets:"));
  expect(secretScopes).toHaveLength(5);
  for (const role of ["owner", "member", "auditor"] as const)
    for (const permission of permissionsOfRole(role))
      expect(secretScopes.filter((scope) => permission.scopes.has(scope))).toEqual([]);
});

test("what a role allows in vaults is limited neither to some of them nor to paths", () => {
  const permissions = (["owner", "auditor"] as const).flatMap(permissionsOfRole);
  expect(permissions).toHaveLength(2);
  for (const { vaultIds, paths } of permissions) expect([vaultIds, paths]).toEqual([undefined, undefined]);
  expect(permissionsOfRole("member")).toEqual([]);
});

test("a stored role that this version does not know is no role", () => {
  expect(parseRole("auditor")).toBe("auditor");
  expect(parseVaultRole("manager")).toBe("manager");
  for (const text of ["", "Owner", "owners", "Manager", "toString", "__proto__"])
    expect([parseRole(text), parseVaultRole(text)]).toEqual([undefined, undefined]);
});
