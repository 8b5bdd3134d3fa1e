import { Failed, Loading } from "@hearth-and-keep/page-design";
import type { Vault } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { Confirm } from "../../design/confirm.tsx";
import { Dialog, DialogEnding } from "../../design/dialog.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { changed, useAnswer } from "../../vault-api/use-query.ts";
import { vaultPath, vaultsPath } from "./api-paths.ts";

/** Vaults that wait for their end, and can still be brought back. */
export function DeletedVaults({ onClose }: { readonly onClose: () => void }) {
  const vaults = useAnswer<readonly Vault[]>(`${vaultsPath}?state=deleted&limit=200`);
  const [purged, setPurged] = useState<Vault>();
  const { run, isBusy, problem } = useDoing();
  const { tell } = useToasts();
  const restore = ({ id, name }: Vault): void => {
    void run(async () => {
      await ask(`${vaultPath(id)}/restore`, { method: "POST", revision: "any" });
      changed(vaultsPath);
      tell(`${name} is back`);
    });
  };
  return (
    <Dialog title="Deleted vaults" onClose={onClose}>
      <p className="quiet">A deleted vault can be restored for 30 days. Then it is erased.</p>
      {problem !== undefined && <Failed text={problem.message} />}
      {vaults.state === "loading" && <Loading lines={2} />}
      {vaults.state === "failed" && <Failed text={vaults.problem.message} onRetry={vaults.reload} />}
      {vaults.state === "there" && vaults.body.length === 0 && <p>No vault is waiting to be erased.</p>}
      {vaults.state === "there" && (
        <ul className="stack tight">
          {vaults.body.map((vault) => (
            <li key={vault.id} className="row spread">
              <span className="breaks">{vault.name}</span>
              <span className="row">
                <button type="button" className="button" disabled={isBusy} onClick={() => restore(vault)}>
                  Restore
                </button>
                <button type="button" className="button bare" onClick={() => setPurged(vault)}>
                  Delete for good…
                </button>
              </span>
            </li>
          ))}
        </ul>
      )}
      {purged !== undefined && <PurgeVault vault={purged} onClose={() => setPurged(undefined)} />}
      <DialogEnding />
    </Dialog>
  );
}

function PurgeVault({ vault, onClose }: { readonly vault: Vault; readonly onClose: () => void }) {
  const doing = useDoing();
  const purge = async (): Promise<void> => {
    await ask(`${vaultPath(vault.id)}?purge=true`, { method: "DELETE", revision: "any" });
    changed(vaultsPath);
    onClose();
  };
  return (
    <Confirm
      title={`Delete ${vault.name} for good?`}
      action="Delete for good"
      doing={doing}
      onConfirm={() => void doing.run(purge)}
      onClose={onClose}
    >
      Everything in it is erased at once, with its keys. Nobody can bring it back.
    </Confirm>
  );
}
