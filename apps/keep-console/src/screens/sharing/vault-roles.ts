import type { VaultGrant } from "@hearth-and-keep/vault-contract";
import type { RadioOption } from "../../design/radio-group.tsx";

export type VaultRole = VaultGrant["role"];

export const vaultRoleOptions: readonly RadioOption<VaultRole>[] = [
  { value: "reader", label: "Reader", hint: "Reads values." },
  { value: "editor", label: "Editor", hint: "Reads values, and creates, changes and deletes secrets." },
  {
    value: "manager",
    label: "Manager",
    hint: "Like an editor. Also destroys versions, reads the audit log, changes settings and shares the vault.",
  },
];

const labels = new Map(vaultRoleOptions.map(({ value, label }) => [value, label]));

export function vaultRoleLabel(role: VaultRole): string {
  return labels.get(role) ?? role;
}
