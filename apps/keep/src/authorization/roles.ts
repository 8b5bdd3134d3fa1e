/** What a member of an organisation may do in it. No role allows reading a value. */
const rightsOf = {
  owner: ["organisation:read", "organisation:write", "members:read", "members:write", "audit:read"],
  member: ["organisation:read", "members:read"],
  auditor: ["organisation:read", "members:read", "audit:read"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Role = keyof typeof rightsOf;
export type OrganisationRight = (typeof rightsOf)[Role][number];

// Object.keys is typed as string[]; these are the keys of the table.
const roles = Object.keys(rightsOf) as readonly Role[];

/** Undefined for an unknown role. */
export function parseRole(text: string): Role | undefined {
  return roles.find((role) => role === text);
}

export function roleAllows(role: Role, right: OrganisationRight): boolean {
  const rights: readonly OrganisationRight[] = rightsOf[role];
  return rights.includes(right);
}
