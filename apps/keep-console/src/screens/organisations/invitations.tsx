import { ErrorNotice } from "@hearth-and-keep/page-design";
import type { Invitation } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { ConfirmDialog } from "../../design/confirm-dialog.tsx";
import { Timestamp } from "../../design/timestamp.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { request } from "../../vault-api/api-client.ts";
import { organisationPath, useMemberNames } from "../../vault-api/member-names.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate, useQuery } from "../../vault-api/use-query.ts";
import { roleLabel } from "./organisation-roles.ts";
import type { OrganisationTabProps } from "./organisation-tab.ts";

type InvitationList = { readonly items: readonly Invitation[] };

export function invitationsPath(organisationId: string): string {
  return `${organisationPath(organisationId)}/invitations`;
}

/** The invitations that can still be accepted; nothing when there are none. */
export function Invitations({ organisation }: OrganisationTabProps) {
  const invitations = useQuery<InvitationList>(invitationsPath(organisation.id));
  const names = useMemberNames(organisation.id);
  const [revoking, setRevoking] = useState<Invitation>();
  if (invitations.state === "failed")
    return <ErrorNotice text={invitations.error.message} onRetry={invitations.reload} />;
  if (invitations.state === "loading" || invitations.body.items.length === 0) return null;
  return (
    <section className="stack tight" aria-labelledby="invitations">
      <h2 id="invitations">Open invitations</h2>
      <ul className="card records" aria-labelledby="invitations">
        {invitations.body.items.map((invitation) => (
          <li key={invitation.id} className="record invitation">
            <span className="record-name">
              {invitation.identity === null ? (
                "Anyone with the link"
              ) : (
                <code className="break-words">{invitation.identity}</code>
              )}
            </span>
            <span className="record-role">{roleLabel(invitation.role)}</span>
            <span className="record-date muted small">
              Expires <Timestamp at={invitation.expires_at} />, created by{" "}
              {names.get(invitation.invited_by) ?? "a member"}
            </span>
            <button
              type="button"
              className="button small"
              aria-label={`Revoke the invitation for ${describe(invitation)}`}
              onClick={() => setRevoking(invitation)}
            >
              Revoke
            </button>
          </li>
        ))}
      </ul>
      {revoking !== undefined && (
        <RevokeInvitation
          organisationId={organisation.id}
          invitation={revoking}
          onClose={() => setRevoking(undefined)}
        />
      )}
    </section>
  );
}

function describe({ identity }: Invitation): string {
  return identity ?? "anyone with the link";
}

type RevokeInvitationProps = {
  readonly organisationId: string;
  readonly invitation: Invitation;
  readonly onClose: () => void;
};

function RevokeInvitation({ organisationId, invitation, onClose }: RevokeInvitationProps) {
  const { showToast } = useToasts();
  const mutation = useMutation();
  const revoke = async (): Promise<void> => {
    await request(`${invitationsPath(organisationId)}/${invitation.id}`, { method: "DELETE" });
    invalidate(invitationsPath(organisationId));
    onClose();
    showToast("Invitation revoked");
  };
  return (
    <ConfirmDialog
      title="Revoke this invitation?"
      action="Revoke"
      mutation={mutation}
      onConfirm={() => void mutation.run(revoke)}
      onClose={onClose}
    >
      Its link, for {describe(invitation)}, stops working at once. You can create another invitation.
    </ConfirmDialog>
  );
}
