import type { VaultDetail } from "@hearth-and-keep/vault-contract";
import { CheckboxField, TextField } from "../../design/field.tsx";
import { PathPatternsField } from "../tokens/path-patterns-field.tsx";
import { parseLines } from "../tokens/validate-restrictions.ts";
import { EnvironmentSettingsFields, readEnvironments, toEnvironments } from "./environment-settings.tsx";

export type SettingsDraft = {
  readonly name: string;
  readonly requiresPreconditions: boolean;
  readonly maxVersions: string;
  readonly environments: ReturnType<typeof readEnvironments>;
  /** One pattern per line. */
  readonly protectedPaths: string;
};

export type SettingsFieldsProps = {
  readonly vault: VaultDetail;
  readonly draft: SettingsDraft;
  /** Whether it is in an organisation: only there can somebody else approve changes. */
  readonly isShared: boolean;
  readonly pathsError: string | undefined;
  readonly onChange: (draft: SettingsDraft) => void;
};

const versionsHints = {
  "destroy-oldest": "At the limit, a new version destroys the oldest one.",
  refuse: "At the limit, a version must be destroyed before a new one can be saved.",
} as const;

const protectionHint =
  "One pattern per line. Changes of these secrets take effect only after another person has approved them. At least two people should be able to write here.";

export function SettingsFields({ vault, draft, isShared, pathsError, onChange }: SettingsFieldsProps) {
  return (
    <>
      <TextField
        label="Name"
        required
        maxLength={255}
        value={draft.name}
        onChange={(event) => onChange({ ...draft, name: event.currentTarget.value })}
      />
      <TextField
        label="Maximum versions per secret"
        hint={versionsHints[vault.when_versions_full]}
        type="number"
        min={1}
        max={10_000}
        required
        value={draft.maxVersions}
        onChange={(event) => onChange({ ...draft, maxVersions: event.currentTarget.value })}
      />
      <CheckboxField
        label="Require If-Match on writes"
        hint="Programs must send If-Match or If-None-Match, so that they cannot overwrite each other's changes."
        isChecked={draft.requiresPreconditions}
        onChange={(requiresPreconditions) => onChange({ ...draft, requiresPreconditions })}
      />
      <EnvironmentSettingsFields
        settings={draft.environments}
        onChange={(environments) => onChange({ ...draft, environments })}
      />
      {isShared && (
        <PathPatternsField
          label="Protected paths"
          hint={protectionHint}
          value={draft.protectedPaths}
          error={pathsError}
          onChange={(protectedPaths) => onChange({ ...draft, protectedPaths })}
        />
      )}
    </>
  );
}

export function toSettingsDraft(vault: VaultDetail): SettingsDraft {
  return {
    name: vault.name,
    requiresPreconditions: vault.demands_preconditions,
    maxVersions: String(vault.most_versions),
    environments: readEnvironments(vault),
    protectedPaths: vault.protected_paths.join("\n"),
  };
}

/** Settings that never need an approval. */
export function toDirectSettings({ name, requiresPreconditions }: SettingsDraft) {
  return { name: name.trim(), demands_preconditions: requiresPreconditions };
}

/** Settings that can be part of a proposed change. */
export function toReviewedSettings(draft: SettingsDraft, isShared: boolean) {
  return {
    ...toEnvironments(draft.environments),
    most_versions: Number(draft.maxVersions),
    ...(isShared ? { protected_paths: [...parseLines(draft.protectedPaths)] } : {}),
  };
}
