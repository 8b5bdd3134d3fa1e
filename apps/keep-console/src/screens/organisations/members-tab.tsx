import { ErrorNotice, Loading } from "@hearth-and-keep/page-design";
import type { Member } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { ActionMenu, type MenuAction } from "../../design/menu.tsx";
import { Timestamp } from "../../design/timestamp.tsx";
import { memberName } from "../../vault-api/member-names.ts";
import { useMembers } from "../../vault-api/use-members.ts";
import { Invitations } from "./invitations.tsx";
import { InviteDialog } from "./invite-dialog.tsx";
import { type MemberDialog, MemberDialogs } from "./member-dialogs.tsx";
import { roleLabel } from "./organisation-roles.ts";
import type { OrganisationTabProps } from "./organisation-tab.ts";
import { AddButton, SectionBar } from "./section-bar.tsx";
import { useTeams } from "./use-teams.ts";

export function MembersTab({ session, organisation }: OrganisationTabProps) {
  const [isInviting, setIsInviting] = useState(false);
  const [dialog, setDialog] = useState<MemberDialog>();
  const isOwner = organisation.role === "owner";
  const props = { session, organisation };
  return (
    <div className="stack">
      <SectionBar
        text="Members sign in with accounts of their own. No role alone lets anyone read a secret."
        action={isOwner && <AddButton label="Invite" onClick={() => setIsInviting(true)} />}
      />
      <MemberList {...props} onOpenDialog={setDialog} />
      {isOwner && <Invitations {...props} />}
      {isInviting && <InviteDialog {...props} onClose={() => setIsInviting(false)} />}
      {dialog !== undefined && (
        <MemberDialogs {...props} dialog={dialog} onClose={() => setDialog(undefined)} />
      )}
    </div>
  );
}

type MemberListProps = OrganisationTabProps & { readonly onOpenDialog: (dialog: MemberDialog) => void };

function MemberList({ session, organisation, onOpenDialog }: MemberListProps) {
  const members = useMembers(organisation.id);
  const teams = useTeams(organisation.id);
  const teamNames = new Map(
    teams.state === "loaded" ? teams.body.items.map(({ id, name }) => [id, name]) : [],
  );
  if (members.state === "loading") return <Loading lines={5} label="Loading members" />;
  if (members.state === "failed")
    return <ErrorNotice text={members.error?.message ?? ""} onRetry={members.reload} />;
  return (
    <>
      <ul className="card records" aria-label="Members">
        {members.items.map((member) => {
          const isSelf = member.person_id === session.account.id;
          return (
            <MemberRow
              key={member.person_id}
              member={member}
              isSelf={isSelf}
              teams={member.team_ids.map((id) => teamNames.get(id)).filter((name) => name !== undefined)}
              actions={actionsFor(member, { isSelf, isOwner: organisation.role === "owner", onOpenDialog })}
            />
          );
        })}
      </ul>
      {members.error !== undefined && <ErrorNotice text={members.error.message} onRetry={members.reload} />}
      {members.hasMore && (
        <div>
          <button type="button" className="button" onClick={members.loadMore}>
            Show more members
          </button>
        </div>
      )}
    </>
  );
}

type ActionOptions = Pick<MemberListProps, "onOpenDialog"> & {
  readonly isSelf: boolean;
  readonly isOwner: boolean;
};

function actionsFor(member: Member, { isSelf, isOwner, onOpenDialog }: ActionOptions): readonly MenuAction[] {
  const open = (kind: MemberDialog["kind"]) => () => onOpenDialog({ kind, member });
  return [
    ...(isOwner ? [{ label: "Change role…", onSelect: open("role") }] : []),
    ...(isOwner && !isSelf ? [{ label: "Secrets they have read…", onSelect: open("exposure") }] : []),
    ...(isOwner && !isSelf ? [{ label: "Remove…", onSelect: open("remove"), isDangerous: true }] : []),
    ...(isSelf ? [{ label: "Leave…", onSelect: open("leave"), isDangerous: true }] : []),
  ];
}

type MemberRowProps = {
  readonly member: Member;
  readonly isSelf: boolean;
  readonly teams: readonly string[];
  readonly actions: readonly MenuAction[];
};

function MemberRow({ member, isSelf, teams, actions }: MemberRowProps) {
  const name = memberName(member);
  return (
    <li className="record member">
      <span className="record-name">
        <strong className="break-words">{name}</strong>
        {isSelf && <span className="badge success">You</span>}
      </span>
      <span className="record-role">{roleLabel(member.role)}</span>
      <span className="record-badges">
        {teams.map((team) => (
          <span key={team} className="badge truncate" title={team}>
            <span className="truncate">{team}</span>
          </span>
        ))}
      </span>
      <span className="record-date muted small">
        Joined <Timestamp at={member.joined_at} />
      </span>
      {actions.length > 0 && <ActionMenu label={`More actions for ${name}`} actions={actions} />}
    </li>
  );
}
