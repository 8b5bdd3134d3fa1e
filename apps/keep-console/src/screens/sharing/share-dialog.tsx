import { ErrorNotice } from "@hearth-and-keep/page-design";
import { type FormEvent, useState } from "react";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { CheckboxField, SelectField } from "../../design/field.tsx";
import { RadioGroup } from "../../design/radio-group.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { requiresFreshSignIn } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { memberLabels, useAllMembers } from "../../vault-api/use-members.ts";
import { type Mutation, useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { useTeams } from "../organisations/use-teams.ts";
import { vaultPath } from "../secrets/api-paths.ts";
import { PathPatternsField, validatePathPatterns } from "../tokens/path-patterns-field.tsx";
import { parseLines } from "../tokens/validate-restrictions.ts";
import type { SharingProps } from "./grant-list.ts";
import { type VaultRole, vaultRoleOptions } from "./vault-roles.ts";

type ShareDialogProps = SharingProps & { readonly onClose: () => void };

type GrantDraft = {
  /** `team:` or `person:` and an id; empty until one is chosen. */
  readonly holder: string;
  readonly role: VaultRole;
  readonly isLimited: boolean;
  /** One pattern per line. */
  readonly paths: string;
};

type GrantErrors = { readonly holder?: string; readonly paths?: string };

/** The least access comes first; the whole vault unless it is limited. */
const initialDraft: GrantDraft = { holder: "", role: "reader", isLimited: false, paths: "" };

export function ShareDialog({ session, vault, organisationId, onClose }: ShareDialogProps) {
  const [draft, setDraft] = useState(initialDraft);
  const [isSubmitted, setIsSubmitted] = useState(false);
  const { showToast } = useToasts();
  const mutation = useMutation();
  const errors = validate(draft);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setIsSubmitted(true);
    if (Object.keys(errors).length > 0) return;
    void mutation.run(async () => {
      await request(`${vaultPath(vault.id)}/grants`, { method: "POST", body: toRequestBody(draft) });
      invalidate(vaultPath(vault.id));
      onClose();
      showToast(`${vault.name} shared`);
    });
  };
  const change = (changed: Partial<GrantDraft>): void => setDraft((before) => ({ ...before, ...changed }));
  return (
    <Dialog title={`Share ${vault.name}`} onClose={onClose}>
      <form className="stack" noValidate onSubmit={submit}>
        <HolderField
          organisationId={organisationId}
          value={draft.holder}
          error={isSubmitted ? errors.holder : undefined}
          onChange={(holder) => change({ holder })}
        />
        <RadioGroup
          legend="Role"
          value={draft.role}
          options={vaultRoleOptions}
          onChange={(role) => change({ role })}
        />
        <PathLimit draft={draft} error={isSubmitted ? errors.paths : undefined} onChange={change} />
        <ShareActions mutation={mutation} />
      </form>
      <MutationError session={session} error={mutation.error} purpose="share vaults" />
    </Dialog>
  );
}

function ShareActions({ mutation }: { readonly mutation: Mutation }) {
  return (
    <DialogActions>
      <button
        type="submit"
        className="button primary"
        disabled={mutation.isBusy || requiresFreshSignIn(mutation.error)}
      >
        Share
      </button>
    </DialogActions>
  );
}

type HolderFieldProps = {
  readonly organisationId: string;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (holder: string) => void;
};

function HolderField({ organisationId, value, error, onChange }: HolderFieldProps) {
  const teams = useTeams(organisationId);
  const members = useAllMembers(organisationId);
  const failure = teams.state === "failed" ? teams.error : members.error;
  const teamOptions = (teams.state === "loaded" ? teams.body.items : []).map(({ id, name }) => ({
    value: `team:${id}`,
    label: name,
  }));
  const memberOptions = [...memberLabels(members.items)].map(([id, label]) => ({
    value: `person:${id}`,
    label,
  }));
  return (
    <>
      <SelectField
        label="Share with"
        value={value}
        error={error}
        options={[{ value: "", label: "Choose a team or a member…" }]}
        groups={[
          ...(teamOptions.length > 0 ? [{ label: "Teams", options: sorted(teamOptions) }] : []),
          { label: "Members", options: sorted(memberOptions) },
        ]}
        onChange={onChange}
      />
      {failure !== undefined && <ErrorNotice text={failure.message} />}
    </>
  );
}

function sorted(options: readonly { readonly value: string; readonly label: string }[]) {
  return options.toSorted((one, other) => one.label.localeCompare(other.label));
}

type PathLimitProps = {
  readonly draft: GrantDraft;
  readonly error: string | undefined;
  readonly onChange: (change: Partial<GrantDraft>) => void;
};

function PathLimit({ draft, error, onChange }: PathLimitProps) {
  return (
    <div>
      <CheckboxField
        label="Only some paths"
        hint="Otherwise the whole vault, with everything that is added later."
        isChecked={draft.isLimited}
        onChange={(isLimited) => onChange({ isLimited })}
      />
      {draft.isLimited && (
        <PathPatternsField
          value={draft.paths}
          hint="One per line. * matches one name, ** at the end everything below."
          error={error ?? validatePathPatterns(draft.paths)}
          onChange={(paths) => onChange({ paths })}
        />
      )}
    </div>
  );
}

function validate({ holder, isLimited, paths }: GrantDraft): GrantErrors {
  const pathError = parseLines(paths).length === 0 ? "Enter at least one path" : validatePathPatterns(paths);
  return {
    ...(holder === "" ? { holder: "Choose with whom to share the vault" } : {}),
    ...(isLimited && pathError !== undefined ? { paths: pathError } : {}),
  };
}

function toRequestBody({ holder, role, isLimited, paths }: GrantDraft): object {
  const [type = "", id = ""] = holder.split(":");
  return { holder: { type, id }, role, ...(isLimited ? { paths: parseLines(paths) } : {}) };
}
