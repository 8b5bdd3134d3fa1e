import type { Organisation } from "@hearth-and-keep/vault-contract";
import type { RadioOption } from "../../design/radio-group.tsx";

export type OrganisationRole = Organisation["role"];

/** No role allows reading a value; vaults are shared for that. */
export const roleOptions: readonly RadioOption<OrganisationRole>[] = [
  {
    value: "member",
    label: "Member",
    hint: "Uses the vaults that are shared with them, and creates vaults and tokens.",
  },
  { value: "auditor", label: "Auditor", hint: "Reads all audit logs. Cannot create vaults or tokens." },
  {
    value: "owner",
    label: "Owner",
    hint: "Manages members, teams, vaults, tokens and settings, and can delete the organisation.",
  },
];

const labels = new Map(roleOptions.map(({ value, label }) => [value, label]));

export function roleLabel(role: OrganisationRole): string {
  return labels.get(role) ?? role;
}

/** E.g. "an owner". */
export function roleInSentence(role: OrganisationRole): string {
  return `${role === "member" ? "a" : "an"} ${roleLabel(role).toLowerCase()}`;
}
