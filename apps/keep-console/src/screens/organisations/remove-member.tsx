import { Notice } from "@hearth-and-keep/page-design";
import { useState } from "react";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { requiresFreshSignIn } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { memberName, organisationPath } from "../../vault-api/member-names.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { ExposureView, useExposure } from "./exposed-secrets.tsx";
import type { MemberDialogProps } from "./organisation-tab.ts";

/** Stays open after the removal: the values in its list have to be replaced then. */
export function RemoveMemberDialog({ session, organisation, member, onClose }: MemberDialogProps) {
  const [isRemoved, setIsRemoved] = useState(false);
  const { isBusy, error, run } = useMutation();
  const exposure = useExposure({ organisationId: organisation.id, member });
  const name = memberName(member);
  const remove = (): void =>
    void run(async () => {
      await request(`${organisationPath(organisation.id)}/members/${member.person_id}`, { method: "DELETE" });
      setIsRemoved(true);
    });
  const close = (): void => {
    // Not before: the list of a person who is no member any more cannot be loaded again.
    if (isRemoved) invalidate(organisationPath(organisation.id));
    onClose();
  };
  return (
    <Dialog title={isRemoved ? `${name} was removed` : `Remove ${name}?`} isWide onClose={close}>
      <div aria-live="polite">
        {isRemoved ? (
          <Notice kind="success">{name} has no access to this organisation any more.</Notice>
        ) : (
          <p>
            {name} loses access to the organisation's vaults at once, and the tokens that they created there
            for themselves stop working.
          </p>
        )}
      </div>
      <ExposureView exposure={exposure} name={name} />
      <MutationError session={session} error={error} purpose="remove members" />
      {isRemoved ? (
        <DialogActions />
      ) : (
        <DialogActions>
          <button
            type="button"
            className="button danger"
            disabled={isBusy || requiresFreshSignIn(error)}
            onClick={remove}
          >
            {isBusy ? "Removing…" : "Remove"}
          </button>
        </DialogActions>
      )}
    </Dialog>
  );
}
