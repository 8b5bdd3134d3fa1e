import type { Member } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { RadioGroup } from "../../design/radio-group.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { requiresFreshSignIn } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { memberName, organisationPath } from "../../vault-api/member-names.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { ExposedSecrets } from "./exposed-secrets.tsx";
import { LeaveDialog } from "./leave-dialog.tsx";
import { roleInSentence, roleOptions } from "./organisation-roles.ts";
import type { MemberDialogProps, OrganisationTabProps } from "./organisation-tab.ts";
import { RemoveMemberDialog } from "./remove-member.tsx";

export type MemberDialog = {
  readonly kind: "role" | "exposure" | "remove" | "leave";
  readonly member: Member;
};

type MemberDialogsProps = OrganisationTabProps & {
  readonly dialog: MemberDialog;
  readonly onClose: () => void;
};

export function MemberDialogs({ dialog: { kind, member }, ...rest }: MemberDialogsProps) {
  switch (kind) {
    case "role":
      return <ChangeRoleDialog {...rest} member={member} />;
    case "exposure":
      return <ExposureDialog {...rest} member={member} />;
    case "remove":
      return <RemoveMemberDialog {...rest} member={member} />;
    case "leave":
      return <LeaveDialog {...rest} member={member} />;
  }
}

function ChangeRoleDialog({ session, organisation, member, onClose }: MemberDialogProps) {
  const [role, setRole] = useState(member.role);
  const { showToast } = useToasts();
  const { isBusy, error, run } = useMutation();
  const change = (): void =>
    void run(async () => {
      const path = `${organisationPath(organisation.id)}/members/${member.person_id}`;
      await request(path, { method: "PATCH", body: { role } });
      // One's own role decides what is shown.
      invalidate("/api/organisations");
      onClose();
      showToast(`${memberName(member)} is now ${roleInSentence(role)}`);
    });
  return (
    <Dialog title={`Change the role of ${memberName(member)}`} onClose={onClose}>
      <RadioGroup legend="Role" value={role} options={roleOptions} onChange={setRole} />
      <p className="muted small">In force with their next request.</p>
      <MutationError session={session} error={error} purpose="change roles" />
      <DialogActions>
        <button
          type="button"
          className="button primary"
          disabled={isBusy || requiresFreshSignIn(error) || role === member.role}
          onClick={change}
        >
          Change role
        </button>
      </DialogActions>
    </Dialog>
  );
}

function ExposureDialog({ organisation, member, onClose }: MemberDialogProps) {
  return (
    <Dialog title={`Secrets that ${memberName(member)} has read`} isWide onClose={onClose}>
      <ExposedSecrets organisationId={organisation.id} member={member} />
      <DialogActions />
    </Dialog>
  );
}
