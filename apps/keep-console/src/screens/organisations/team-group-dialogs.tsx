import type { Team } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useState } from "react";
import { ConfirmDialog } from "../../design/confirm-dialog.tsx";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { TextField } from "../../design/field.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { requiresFreshSignIn } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { organisationPath } from "../../vault-api/member-names.ts";
import { type Mutation, useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import type { OrganisationTabProps } from "./organisation-tab.ts";
import { teamsPath } from "./use-teams.ts";

export type TeamGroupProps = OrganisationTabProps & {
  readonly team: Team;
  /** How many members the group added. */
  readonly added: number;
};

type TeamGroupDialogProps = TeamGroupProps & { readonly onClose: () => void };

type SetTeamGroupProps = TeamGroupDialogProps & {
  /** Name of the provider whose groups fill teams. */
  readonly provider: string;
};

export function SetTeamGroup(props: SetTeamGroupProps) {
  const { session, team, added, provider, onClose } = props;
  const [name, setName] = useState(team.external_group ?? "");
  const { mutation, save } = useSaveGroup(props);
  const group = name.trim();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save(group, `${team.name} now follows the group ${group}`);
  };
  return (
    <Dialog title={`Group for ${team.name}`} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <TextField
          label="Group"
          hint={`Exactly as ${provider} sends it, in upper and lower case. Some send ids or paths.`}
          required
          autoComplete="off"
          spellCheck={false}
          maxLength={255}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {added > 0 && <p>{describeRemoval(added)} Those in the new group join when they sign in.</p>}
        <DialogActions>
          <button
            type="submit"
            className="button primary"
            disabled={isBlocked(mutation) || group === (team.external_group ?? "")}
          >
            Save
          </button>
        </DialogActions>
      </form>
      <MutationError session={session} error={mutation.error} purpose="change teams" />
    </Dialog>
  );
}

export function RemoveTeamGroup(props: TeamGroupDialogProps) {
  const { session, team, added, onClose } = props;
  const { mutation, save } = useSaveGroup(props);
  return (
    <ConfirmDialog
      title={`Remove the group of ${team.name}?`}
      action="Remove group"
      mutation={{ isBusy: isBlocked(mutation), error: undefined }}
      onConfirm={() => save(null, `${team.name} has no group any more`)}
      onClose={onClose}
    >
      <div className="stack">
        <p>
          Sign-ins stop changing this team. {added > 0 && describeRemoval(added)} Members whom an owner added
          stay.
        </p>
        <MutationError session={session} error={mutation.error} purpose="change teams" />
      </div>
    </ConfirmDialog>
  );
}

function useSaveGroup({ organisation, team, onClose }: TeamGroupDialogProps) {
  const mutation = useMutation();
  const { showToast } = useToasts();
  const save = (group: string | null, message: string): void =>
    void mutation.run(async () => {
      const path = `${teamsPath(organisation.id)}/${team.id}`;
      await request(path, { method: "PATCH", body: { external_group: group } });
      invalidate(organisationPath(organisation.id));
      onClose();
      showToast(message);
    });
  return { mutation, save };
}

function isBlocked({ isBusy, error }: Mutation): boolean {
  return isBusy || requiresFreshSignIn(error);
}

function describeRemoval(added: number): string {
  return added === 1
    ? "The member whom the current group added is removed at once."
    : `The ${added} members whom the current group added are removed at once.`;
}
