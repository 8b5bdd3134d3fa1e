import { navigate } from "@hearth-and-keep/page-design";
import { ConfirmDialog } from "../../design/confirm-dialog.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { requiresFreshSignIn } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { organisationPath } from "../../vault-api/member-names.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import type { MemberDialogProps } from "./organisation-tab.ts";

export function LeaveDialog({ session, organisation, onClose }: MemberDialogProps) {
  const { showToast } = useToasts();
  const { isBusy, error, run } = useMutation();
  const leave = (): void =>
    void run(async () => {
      await request(`${organisationPath(organisation.id)}/leave`, { method: "POST" });
      onClose();
      navigate("/organisations");
      invalidate("/api/organisations", "/api/secrets/vaults");
      showToast(`You left ${organisation.name}`);
    });
  return (
    <ConfirmDialog
      title={`Leave ${organisation.name}?`}
      action="Leave"
      mutation={{ isBusy: isBusy || requiresFreshSignIn(error), error: undefined }}
      onConfirm={leave}
      onClose={onClose}
    >
      <div className="stack">
        <p>
          You lose access to its vaults at once, and tokens that you created there for yourself stop working.
          To come back, you need a new invitation.
        </p>
        <MutationError session={session} error={error} purpose="leave the organisation" />
      </div>
    </ConfirmDialog>
  );
}
