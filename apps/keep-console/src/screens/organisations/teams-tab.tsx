import { ErrorNotice, Link, Loading, navigate, useLocation } from "@hearth-and-keep/page-design";
import type { Team } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { EmptyState } from "../../design/empty-state.tsx";
import { TeamIcon } from "../../design/icons.tsx";
import { ActionMenu } from "../../design/menu.tsx";
import type { OrganisationTabProps } from "./organisation-tab.ts";
import { AddButton, SectionBar } from "./section-bar.tsx";
import { type TeamDialog, TeamDialogs } from "./team-dialogs.tsx";
import { teamHref } from "./team-location.ts";
import { TeamPanel } from "./team-panel.tsx";
import { useTeams } from "./use-teams.ts";

export function TeamsTab({ session, organisation }: OrganisationTabProps) {
  const teams = useTeams(organisation.id);
  const { query } = useLocation();
  const [dialog, setDialog] = useState<TeamDialog>();
  const isOwner = organisation.role === "owner";
  const items = teams.state === "loaded" ? teams.body.items : [];
  const selected = items.find(({ id }) => id === query.get("team"));
  const add = isOwner && <AddButton label="New team" onClick={() => setDialog({ kind: "new" })} />;
  return (
    <div className="stack">
      <SectionBar
        text="Share a vault with a team, and everyone in it gets the same access."
        action={items.length > 0 && add}
      />
      {teams.state === "loading" && <Loading label="Loading teams" />}
      {teams.state === "failed" && <ErrorNotice text={teams.error.message} onRetry={teams.reload} />}
      {teams.state === "loaded" && items.length === 0 && (
        <EmptyState title="No teams yet" action={add}>
          {isOwner
            ? "Create a team for people who need the same vaults, such as Backend or On call."
            : "An owner of the organisation can create teams."}
        </EmptyState>
      )}
      {items.length > 0 && (
        <ul className="card records" aria-label="Teams">
          {items.map((team) => (
            <TeamRow
              key={team.id}
              team={team}
              to={teamHref(organisation.id, team.id)}
              {...(isOwner ? { onOpenDialog: setDialog } : {})}
            />
          ))}
        </ul>
      )}
      {selected !== undefined && (
        <TeamPanel
          key={selected.id}
          {...{ session, organisation }}
          team={selected}
          onClose={() => navigate(teamHref(organisation.id))}
        />
      )}
      {dialog !== undefined && (
        <TeamDialogs {...{ session, organisation, dialog }} onClose={() => setDialog(undefined)} />
      )}
    </div>
  );
}

type TeamRowProps = {
  readonly team: Team;
  readonly to: string;
  /** Absent for people who cannot change teams. */
  readonly onOpenDialog?: (dialog: TeamDialog) => void;
};

function TeamRow({ team, to, onOpenDialog }: TeamRowProps) {
  return (
    <li className="record team">
      <span className="record-name">
        <TeamIcon />
        <Link className="break-words" to={to}>
          {team.name}
        </Link>
      </span>
      <span className="record-date muted small">{countMembers(team.members)}</span>
      {onOpenDialog !== undefined && (
        <ActionMenu
          label={`More actions for ${team.name}`}
          actions={[
            { label: "Members", onSelect: () => navigate(to) },
            { label: "Rename…", onSelect: () => onOpenDialog({ kind: "rename", team }) },
            { label: "Delete…", onSelect: () => onOpenDialog({ kind: "delete", team }), isDangerous: true },
          ]}
        />
      )}
    </li>
  );
}

function countMembers(count: number): string {
  return count === 1 ? "1 member" : `${count.toLocaleString("en")} members`;
}
