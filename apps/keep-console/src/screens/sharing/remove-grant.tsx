import type { VaultGrant } from "@hearth-and-keep/vault-contract";
import { ConfirmDialog } from "../../design/confirm-dialog.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { requiresFreshSignIn } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { vaultPath } from "../secrets/api-paths.ts";
import { holderName, type SharingProps } from "./grant-list.ts";

type RemoveGrantProps = SharingProps & { readonly grant: VaultGrant; readonly onClose: () => void };

export function RemoveGrant({ session, vault, grant, onClose }: RemoveGrantProps) {
  const { showToast } = useToasts();
  const { isBusy, error, run } = useMutation();
  const name = holderName(grant);
  const isSelf = grant.holder.id === session.account.id;
  const remove = (): void =>
    void run(async () => {
      await request(`${vaultPath(vault.id)}/grants/${grant.id}`, { method: "DELETE" });
      invalidate(vaultPath(vault.id));
      onClose();
      showToast(`Access of ${name} removed`);
    });
  return (
    <ConfirmDialog
      title={`Remove the access of ${name}?`}
      action="Remove access"
      mutation={{ isBusy: isBusy || requiresFreshSignIn(error), error: undefined }}
      onConfirm={remove}
      onClose={onClose}
    >
      <div className="stack">
        <p>
          {grant.holder.type === "team"
            ? `Members of ${name} keep only the access that they have in other ways.`
            : `${isSelf ? "You keep" : `${name} keeps`} only the access that other entries of this list give.`}{" "}
          Values that were read before may have been copied: replace them if that matters.
        </p>
        <MutationError session={session} error={error} purpose="change who has access" />
      </div>
    </ConfirmDialog>
  );
}
