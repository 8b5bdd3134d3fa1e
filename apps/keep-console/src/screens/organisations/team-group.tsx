import { Notice } from "@hearth-and-keep/page-design";
import type { Session } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { RemoveTeamGroup, SetTeamGroup, type TeamGroupProps } from "./team-group-dialogs.tsx";

/** The group whose people sign-ins add to the team. Owners set, change and remove it. */
export function TeamGroup({ session, organisation, team, added }: TeamGroupProps) {
  const [dialog, setDialog] = useState<"set" | "remove">();
  const provider = fillingProvider(session);
  const isOwner = organisation.role === "owner";
  if (team.external_group === null && !isOwner) return null;
  const props = { session, organisation, team, added, onClose: () => setDialog(undefined) };
  return (
    <section className="stack tight" aria-labelledby="team-group">
      <div className="row spread">
        <h3 id="team-group">Group</h3>
        {isOwner && (
          <span className="row">
            {provider !== undefined && (
              <button type="button" className="button small" onClick={() => setDialog("set")}>
                {team.external_group === null ? "Set group…" : "Change…"}
              </button>
            )}
            {team.external_group !== null && (
              <button type="button" className="button small" onClick={() => setDialog("remove")}>
                Remove…
              </button>
            )}
          </span>
        )}
      </div>
      {team.external_group !== null && <code className="break-words">{team.external_group}</code>}
      {provider === undefined ? (
        <Notice>
          {team.external_group !== null && "This group has no effect. "}
          Groups cannot fill teams here until the operator of this Keep sets <code>--groups-claim</code>.
        </Notice>
      ) : (
        <p className="muted small">
          Signing in with {provider} adds members who are in the group, and removes those whom only the group
          had added.
        </p>
      )}
      {dialog === "set" && provider !== undefined && <SetTeamGroup {...props} provider={provider} />}
      {dialog === "remove" && <RemoveTeamGroup {...props} />}
    </section>
  );
}

/** The name of the provider whose groups fill teams; undefined if the operator has not configured that. */
function fillingProvider({ providers }: Session): string | undefined {
  return providers.find(({ fills_teams: fillsTeams }) => fillsTeams === true)?.name;
}
