import { navigate } from "@hearth-and-keep/page-design";
import type { Team } from "@hearth-and-keep/vault-contract";
import { ConfirmDialog } from "../../design/confirm-dialog.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { requiresFreshSignIn } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { organisationPath } from "../../vault-api/member-names.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { NameDialog } from "../secrets/name-dialog.tsx";
import type { OrganisationTabProps } from "./organisation-tab.ts";
import { teamHref } from "./team-location.ts";
import { teamsPath } from "./use-teams.ts";

export type TeamDialog =
  | { readonly kind: "new" }
  | { readonly kind: "rename" | "delete"; readonly team: Team };

type TeamDialogsProps = OrganisationTabProps & {
  readonly dialog: TeamDialog;
  readonly onClose: () => void;
};

export function TeamDialogs({ session, organisation, dialog, onClose }: TeamDialogsProps) {
  const path = teamsPath(organisation.id);
  const { showToast } = useToasts();
  if (dialog.kind === "delete")
    return <DeleteTeam {...{ session, organisation, onClose }} team={dialog.team} />;
  const isNew = dialog.kind === "new";
  return (
    <NameDialog
      title={isNew ? "New team" : `Rename ${dialog.team.name}`}
      label="Name"
      action={isNew ? "Create team" : "Rename"}
      initialName={isNew ? "" : dialog.team.name}
      maxLength={200}
      onClose={onClose}
      onSubmit={async (name) => {
        if (!isNew) {
          await request(`${path}/${dialog.team.id}`, { method: "PATCH", body: { name } });
          invalidate(path);
          showToast("Team renamed");
          return;
        }
        const { body } = await request<Team>(path, { method: "POST", body: { name } });
        invalidate(path);
        navigate(teamHref(organisation.id, body.id));
      }}
    />
  );
}

type DeleteTeamProps = Omit<TeamDialogsProps, "dialog"> & { readonly team: Team };

function DeleteTeam({ session, organisation, team, onClose }: DeleteTeamProps) {
  const { isBusy, error, run } = useMutation();
  const { showToast } = useToasts();
  const deleteTeam = async (): Promise<void> => {
    await request(`${teamsPath(organisation.id)}/${team.id}`, { method: "DELETE" });
    invalidate(organisationPath(organisation.id));
    onClose();
    showToast(`${team.name} deleted`);
  };
  return (
    <ConfirmDialog
      title={`Delete the team ${team.name}?`}
      action="Delete team"
      mutation={{ isBusy: isBusy || requiresFreshSignIn(error), error: undefined }}
      onConfirm={() => void run(deleteTeam)}
      onClose={onClose}
    >
      <div className="stack">
        <p>
          Its members lose the access to vaults that they have through this team. They stay members of the
          organisation.
        </p>
        <MutationError session={session} error={error} purpose="delete teams" />
      </div>
    </ConfirmDialog>
  );
}
