import { Notice } from "@hearth-and-keep/page-design";
import type { IssuedInvitation } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useState } from "react";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { TextField } from "../../design/field.tsx";
import { OneTimeValue } from "../../design/one-time-value.tsx";
import { RadioGroup } from "../../design/radio-group.tsx";
import { formatDate } from "../../design/timestamp.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { requiresFreshSignIn } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { invitationsPath } from "./invitations.tsx";
import { type OrganisationRole, roleInSentence, roleOptions } from "./organisation-roles.ts";
import type { OrganisationTabProps } from "./organisation-tab.ts";

type InviteDialogProps = OrganisationTabProps & { readonly onClose: () => void };

const identityPattern = /^(?:code-hosting|general):.{1,255}$/u;

/**
 * Creates an invitation, then shows its link, which cannot be shown again. One dialog for both, so that the focus returns to
 * the button that opened it.
 */
export function InviteDialog({ session, organisation, onClose }: InviteDialogProps) {
  const [issued, setIssued] = useState<IssuedInvitation>();
  if (issued === undefined) {
    return (
      <Dialog title={`Invite to ${organisation.name}`} onClose={onClose}>
        <InvitationForm {...{ session, organisation }} onIssued={setIssued} />
      </Dialog>
    );
  }
  return (
    // Neither Escape nor a press outside closes it.
    <Dialog title="Copy the invitation link now" isWide staysOpenOnOutsidePress onClose={() => undefined}>
      <InvitationLink {...{ organisation, issued, onClose }} />
    </Dialog>
  );
}

type InvitationFormProps = OrganisationTabProps & {
  readonly onIssued: (issued: IssuedInvitation) => void;
};

function InvitationForm({ session, organisation, onIssued }: InvitationFormProps) {
  const [role, setRole] = useState<OrganisationRole>("member");
  const [identity, setIdentity] = useState("");
  const [identityError, setIdentityError] = useState<string>();
  const { isBusy, error, run } = useMutation();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const text = identity.trim();
    const isValid = text === "" || identityPattern.test(text);
    setIdentityError(
      isValid ? undefined : "Enter a provider and the subject there, such as code-hosting:12345",
    );
    if (!isValid) return;
    void run(async () => {
      const body = { role, ...(text === "" ? {} : { identity: text }) };
      const path = invitationsPath(organisation.id);
      const response = await request<IssuedInvitation>(path, { method: "POST", body });
      invalidate(path);
      onIssued(response.body);
    });
  };
  return (
    <>
      <form className="stack" noValidate onSubmit={submit}>
        <RadioGroup legend="Role" value={role} options={roleOptions} onChange={setRole} />
        <TextField
          label="Identity (optional)"
          hint="Only this person can accept it, e.g. code-hosting:12345. Leave empty for anyone with the link."
          autoComplete="off"
          spellCheck={false}
          maxLength={270}
          value={identity}
          error={identityError}
          onChange={(event) => setIdentity(event.currentTarget.value)}
        />
        <DialogActions>
          <button type="submit" className="button primary" disabled={isBusy || requiresFreshSignIn(error)}>
            Create invitation
          </button>
        </DialogActions>
      </form>
      <MutationError session={session} error={error} purpose="invite people" />
    </>
  );
}

type InvitationLinkProps = Pick<InviteDialogProps, "organisation" | "onClose"> & {
  readonly issued: IssuedInvitation;
};

function InvitationLink({ organisation, issued, onClose }: InvitationLinkProps) {
  const recipient = issued.identity === null ? "Whoever opens it first" : issued.identity;
  return (
    <>
      <Notice kind="warning">
        This is the only time the link is shown. Keep sends no mail: pass it on yourself, by a way that only
        the invited person can read.
      </Notice>
      <OneTimeValue
        label={`Invitation to ${organisation.name}`}
        text={issued.link}
        copyLabel="Copy invitation link"
        isPrimary
      />
      <p className="muted small break-words">
        {recipient} joins as {roleInSentence(issued.role)}. The link works once, until{" "}
        {formatDate(new Date(issued.expires_at))}.
      </p>
      <div className="dialog-actions">
        <button type="button" className="button" onClick={onClose}>
          Done
        </button>
      </div>
    </>
  );
}
