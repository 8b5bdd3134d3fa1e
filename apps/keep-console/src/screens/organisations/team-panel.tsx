import { ErrorNotice, Loading } from "@hearth-and-keep/page-design";
import type { Member, Team } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useState } from "react";
import { SelectField } from "../../design/field.tsx";
import { SidePanel } from "../../design/side-panel.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { request } from "../../vault-api/api-client.ts";
import { organisationPath } from "../../vault-api/member-names.ts";
import { memberLabels, useAllMembers } from "../../vault-api/use-members.ts";
import { type Mutation, useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import type { OrganisationTabProps } from "./organisation-tab.ts";
import { TeamGroup } from "./team-group.tsx";
import { teamsPath } from "./use-teams.ts";

type TeamPanelProps = OrganisationTabProps & { readonly team: Team; readonly onClose: () => void };

/** The members of a team, and the group that fills it. Owners change both. */
export function TeamPanel({ session, organisation, team, onClose }: TeamPanelProps) {
  const members = useAllMembers(organisation.id);
  const mutation = useMutation();
  const { showToast } = useToasts();
  const labels = memberLabels(members.items);
  const change = (member: Member, method: "PUT" | "DELETE"): void =>
    void mutation.run(async () => {
      await request(`${teamsPath(organisation.id)}/${team.id}/members/${member.person_id}`, { method });
      invalidate(organisationPath(organisation.id));
      const name = labels.get(member.person_id) ?? "";
      const returns = isFromGroup(member, team) ? ". The group adds them again at their next sign-in" : "";
      showToast(
        method === "PUT" ? `${name} added to ${team.name}` : `${name} removed from ${team.name}${returns}`,
      );
    });
  const inTeam = members.items.filter(({ team_ids: teams }) => teams.includes(team.id));
  const others = members.items.filter(({ team_ids: teams }) => !teams.includes(team.id));
  const isOwner = organisation.role === "owner";
  return (
    <SidePanel title={team.name} onClose={onClose}>
      <div className="stack">
        {members.state === "loading" && <Loading lines={3} label="Loading members" />}
        {members.error !== undefined && <ErrorNotice text={members.error.message} onRetry={members.reload} />}
        {isOwner && others.length > 0 && (
          <AddMember {...{ others, labels, mutation }} onAdd={(member) => change(member, "PUT")} />
        )}
        <MutationError session={session} error={mutation.error} purpose="change teams" />
        {members.state === "loaded" && (
          <TeamMembers
            {...{ team, inTeam, labels, mutation }}
            {...(isOwner ? { onRemove: (member: Member) => change(member, "DELETE") } : {})}
          />
        )}
        <TeamGroup
          {...{ session, organisation, team }}
          added={inTeam.filter((member) => isFromGroup(member, team)).length}
        />
      </div>
    </SidePanel>
  );
}

function isFromGroup({ group_team_ids: teams }: Member, team: Team): boolean {
  return teams.includes(team.id);
}

type AddMemberProps = {
  readonly others: readonly Member[];
  readonly labels: ReadonlyMap<string, string>;
  readonly mutation: Mutation;
  readonly onAdd: (member: Member) => void;
};

function AddMember({ others, labels, mutation, onAdd }: AddMemberProps) {
  const [chosen, setChosen] = useState("");
  const member = others.find(({ person_id: id }) => id === chosen);
  const add = (event: FormEvent): void => {
    event.preventDefault();
    if (member === undefined) return;
    onAdd(member);
    setChosen("");
  };
  const options = others.map(({ person_id: id }) => ({ value: id, label: labels.get(id) ?? id }));
  return (
    <form className="field-with-button" onSubmit={add}>
      <SelectField
        label="Add a member"
        value={member === undefined ? "" : chosen}
        options={[
          { value: "", label: "Choose…" },
          ...options.toSorted((one, other) => one.label.localeCompare(other.label)),
        ]}
        onChange={setChosen}
      />
      <button type="submit" className="button" disabled={mutation.isBusy || member === undefined}>
        Add
      </button>
    </form>
  );
}

type TeamMembersProps = Pick<AddMemberProps, "labels" | "mutation"> & {
  readonly team: Team;
  readonly inTeam: readonly Member[];
  readonly onRemove?: (member: Member) => void;
};

function TeamMembers({ team, inTeam, labels, mutation, onRemove }: TeamMembersProps) {
  if (inTeam.length === 0) return <p className="muted">This team has no members yet.</p>;
  return (
    <ul className="panel-rows" aria-label="Members of the team">
      {inTeam.map((member) => {
        const label = labels.get(member.person_id) ?? "";
        return (
          <li key={member.person_id}>
            <span className="grant-text">
              <span className="break-words">{label}</span>
              {team.external_group !== null && (
                <span className="muted small">
                  {isFromGroup(member, team) ? "Added by the group" : "Added by an owner"}
                </span>
              )}
            </span>
            {onRemove !== undefined && (
              <button
                type="button"
                className="button small"
                aria-label={`Remove ${label} from the team`}
                disabled={mutation.isBusy}
                onClick={() => onRemove(member)}
              >
                Remove
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
