import { navigate } from "@hearth-and-keep/page-design";
import { useState } from "react";
import { ConfirmByName } from "../../design/confirm-by-name.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { requiresFreshSignIn } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { organisationPath } from "../../vault-api/member-names.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { explainApproval } from "../approvals/explain-approval.ts";
import type { OrganisationTabProps } from "./organisation-tab.ts";

export function DeleteOrganisation(props: OrganisationTabProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <section className="card" aria-labelledby="delete-organisation">
      <div className="section-header">
        <div>
          <h2 id="delete-organisation">Delete organisation</h2>
          <p className="muted small">Permanently deletes the organisation and everything in it.</p>
        </div>
        <button type="button" className="button" onClick={() => setIsOpen(true)}>
          Delete organisation…
        </button>
      </div>
      {isOpen && <DeleteDialog {...props} onClose={() => setIsOpen(false)} />}
    </section>
  );
}

type DeleteDialogProps = OrganisationTabProps & { readonly onClose: () => void };

function DeleteDialog({ session, organisation, onClose }: DeleteDialogProps) {
  const { showToast } = useToasts();
  const { isBusy, error, run } = useMutation();
  const deleteOrganisation = async (confirm: string): Promise<void> => {
    await explainApproval(
      request(organisationPath(organisation.id), { method: "DELETE", body: { confirm } }),
      "A vault of this organisation has protected paths. Remove them in its settings first, which another person has to approve.",
    );
    onClose();
    navigate("/organisations");
    invalidate("/api/organisations");
    showToast(`${organisation.name} deleted`);
  };
  return (
    <Dialog title={`Delete ${organisation.name}?`} onClose={onClose}>
      <p>This takes effect immediately and cannot be undone. It deletes:</p>
      <ul className="bullets">
        <li>All vaults of the organisation with their secrets and all versions</li>
        <li>All its tokens: programs that use them stop working</li>
        <li>All memberships, teams and invitations. The members' own accounts stay</li>
        <li>The content of its audit logs</li>
      </ul>
      <ConfirmByName
        name={organisation.name}
        action="Delete organisation"
        busyAction="Deleting…"
        isBusy={isBusy}
        isBlocked={requiresFreshSignIn(error)}
        onConfirm={(typed) => void run(() => deleteOrganisation(typed))}
      />
      <MutationError session={session} error={error} purpose="delete this organisation" />
    </Dialog>
  );
}
