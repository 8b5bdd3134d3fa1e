import type { Session } from "@hearth-and-keep/vault-contract";
import { ConfirmDialog } from "../../design/confirm-dialog.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { type Identity, identityName, providerName } from "./providers.tsx";

export type UnlinkIdentityProps = {
  readonly session: Session;
  readonly identity: Identity;
  readonly onClose: () => void;
};

export function UnlinkIdentity({ session, identity, onClose }: UnlinkIdentityProps) {
  const { showToast } = useToasts();
  const { isBusy, error, run } = useMutation();
  const name = providerName(session, identity.provider);
  const unlink = (): void =>
    void run(async () => {
      await request(`/api/account/identities/${identity.id}`, { method: "DELETE" });
      onClose();
      showToast(`${name} unlinked`);
      // Unlinking the current identity ends this session: reloading then leads to the sign-in page.
      invalidate("/api/account");
    });
  return (
    <ConfirmDialog
      title={`Unlink ${name}?`}
      action="Unlink"
      mutation={{ isBusy, error: undefined }}
      onConfirm={unlink}
      onClose={onClose}
    >
      <div className="stack">
        <p>
          {identityName(identity)} can no longer sign in to this account, and its sessions end immediately
          {identity.is_current ? ", including this one" : ""}. Vaults and tokens are not affected. You can
          link it again later.
        </p>
        <MutationError session={session} error={error} purpose={`unlink ${name}`} />
      </div>
    </ConfirmDialog>
  );
}
