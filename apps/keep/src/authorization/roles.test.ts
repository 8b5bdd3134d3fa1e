import { expect, test } from "vitest";
import { type OrganisationRight, parseRole, type Role, roleAllows } from "./roles.ts";

const table: Readonly<Record<OrganisationRight, readonly Role[]>> = {
  "organisation:read": ["owner", "member", "auditor"],
  "organisation:write": ["owner"],
  "members:read": ["owner", "member", "auditor"],
  "members:write": ["owner"],
  "audit:read": ["owner", "auditor"],
};

test.each(Object.entries(table))("%s belongs to exactly these roles", (right, expected) => {
  const roles: readonly Role[] = ["owner", "member", "auditor"];
  // A key of the table.
  expect(roles.filter((role) => roleAllows(role, right as OrganisationRight))).toEqual(expected);
});

test("a stored role that this version does not know is no role", () => {
  expect(parseRole("auditor")).toBe("auditor");
  for (const text of ["", "Owner", "owners", "toString", "__proto__"])
    expect(parseRole(text)).toBeUndefined();
});
