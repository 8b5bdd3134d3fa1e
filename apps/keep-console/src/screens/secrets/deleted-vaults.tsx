import { ErrorNotice, Loading } from "@hearth-and-keep/page-design";
import type { Vault } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { ConfirmDialog } from "../../design/confirm-dialog.tsx";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate, useQuery } from "../../vault-api/use-query.ts";
import { vaultPath, vaultsPath } from "./api-paths.ts";

export function DeletedVaults({ onClose }: { readonly onClose: () => void }) {
  const vaults = useQuery<readonly Vault[]>(`${vaultsPath}?state=deleted&limit=200`);
  const [purging, setPurging] = useState<Vault>();
  const { run, isBusy, error } = useMutation();
  const { showToast } = useToasts();
  const restore = ({ id, name }: Vault): void => {
    void run(async () => {
      await request(`${vaultPath(id)}/restore`, { method: "POST", revision: "any" });
      invalidate(vaultsPath);
      showToast(`${name} restored`);
    });
  };
  return (
    <Dialog title="Deleted vaults" onClose={onClose}>
      <p className="muted">Deleted vaults can be restored for 30 days, then they are erased.</p>
      {error !== undefined && <ErrorNotice text={error.message} />}
      {vaults.state === "loading" && <Loading lines={2} />}
      {vaults.state === "failed" && <ErrorNotice text={vaults.error.message} onRetry={vaults.reload} />}
      {vaults.state === "loaded" && vaults.body.length === 0 && <p>No deleted vaults.</p>}
      {vaults.state === "loaded" && (
        <ul className="stack tight">
          {vaults.body.map((vault) => (
            <li key={vault.id} className="row spread">
              <span className="break-words">{vault.name}</span>
              <span className="row">
                <button type="button" className="button" disabled={isBusy} onClick={() => restore(vault)}>
                  Restore
                </button>
                <button type="button" className="button ghost" onClick={() => setPurging(vault)}>
                  Delete permanently…
                </button>
              </span>
            </li>
          ))}
        </ul>
      )}
      {purging !== undefined && <PurgeVaultDialog vault={purging} onClose={() => setPurging(undefined)} />}
      <DialogActions />
    </Dialog>
  );
}

function PurgeVaultDialog({ vault, onClose }: { readonly vault: Vault; readonly onClose: () => void }) {
  const mutation = useMutation();
  const purge = async (): Promise<void> => {
    await request(`${vaultPath(vault.id)}?purge=true`, { method: "DELETE", revision: "any" });
    invalidate(vaultsPath);
    onClose();
  };
  return (
    <ConfirmDialog
      title={`Permanently delete ${vault.name}?`}
      action="Delete permanently"
      mutation={mutation}
      onConfirm={() => void mutation.run(purge)}
      onClose={onClose}
    >
      Everything in it is erased immediately, including its encryption keys. This cannot be undone.
    </ConfirmDialog>
  );
}
