import type { VaultDetail } from "@hearth-and-keep/vault-contract";
import { TextField } from "../../design/field.tsx";

type EnvironmentSettings = {
  /** Comma-separated names. */
  readonly environments: string;
  readonly base: string;
};

export type EnvironmentSettingsFieldsProps = {
  readonly settings: EnvironmentSettings;
  readonly onChange: (settings: EnvironmentSettings) => void;
};

export function EnvironmentSettingsFields({ settings, onChange }: EnvironmentSettingsFieldsProps) {
  return (
    <>
      <TextField
        label="Environments"
        hint="Folders at the top of the vault, comma-separated. They can be compared and promoted."
        placeholder="dev, staging, prod"
        autoComplete="off"
        spellCheck={false}
        maxLength={8500}
        value={settings.environments}
        onChange={(event) => onChange({ ...settings, environments: event.currentTarget.value })}
      />
      <TextField
        label="Base folder"
        hint="Environments inherit the secrets that they do not have from here. Leave empty for none."
        placeholder="/base"
        autoComplete="off"
        spellCheck={false}
        maxLength={256}
        value={settings.base}
        onChange={(event) => onChange({ ...settings, base: event.currentTarget.value })}
      />
    </>
  );
}

export function readEnvironments({ environments, base }: VaultDetail): EnvironmentSettings {
  return { environments: environments.join(", "), base: base ?? "" };
}

/** The fields as the API has them: names without slashes, and the base with one. */
export function toEnvironments({ environments, base }: EnvironmentSettings) {
  const names = environments
    .split(",")
    .map((name) => name.trim().replaceAll(/^\/+|\/+$/gu, ""))
    .filter((name) => name !== "");
  const folder = base.trim().replace(/^\/*/u, "/").replace(/\/+$/u, "");
  return { environments: [...new Set(names)], base: folder === "" ? null : folder };
}
