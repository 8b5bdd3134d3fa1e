import { ErrorNotice, Loading, Notice } from "@hearth-and-keep/page-design";
import type { Organisation, Session, VaultDetail } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useEffect, useState } from "react";
import { ConfirmContent } from "../../design/confirm-dialog.tsx";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { request } from "../../vault-api/api-client.ts";
import { organisationPath } from "../../vault-api/member-names.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate, useQuery } from "../../vault-api/use-query.ts";
import { ApprovalDialog, ProposeForm } from "../approvals/approval-dialog.tsx";
import { proposeSettings } from "../approvals/proposal.ts";
import { useApproval } from "../approvals/use-approval.ts";
import { validatePathPatterns } from "../tokens/path-patterns-field.tsx";
import { vaultPath, vaultsPath } from "./api-paths.ts";
import { isPreconditionFailed } from "./save-secret.ts";
import { SettingsFields, toDirectSettings, toReviewedSettings, toSettingsDraft } from "./settings-fields.tsx";
import { TransferVault } from "./transfer-vault.tsx";
import { useAccess } from "./vault-access.ts";

export type VaultSettingsProps = {
  readonly session: Session;
  readonly vaultId: string;
  readonly onDeleted: () => void;
  readonly onClose: () => void;
};

export default function VaultSettings({ session, vaultId, onDeleted, onClose }: VaultSettingsProps) {
  const [vault, setVault] = useState<VaultDetail>();
  const [ending, setEnding] = useState<Ending>();
  const closeEnding = (): void => setEnding(undefined);
  const { run, error } = useMutation();
  const load = (): void => {
    void run(async () => setVault((await request<VaultDetail>(vaultPath(vaultId))).body));
  };
  useEffect(load, [run, vaultId]);
  return (
    <Dialog title="Vault settings" onClose={onClose}>
      {error !== undefined && <ErrorNotice text={error.message} onRetry={load} />}
      {vault === undefined && error === undefined && <Loading lines={3} />}
      {vault !== undefined && (
        <SettingsForm
          key={vault.revision}
          vault={vault}
          onReload={load}
          onClose={onClose}
          onEnd={setEnding}
        />
      )}
      {ending === "delete" && vault !== undefined && (
        <DeleteVaultDialog {...{ vault, onDeleted }} onProposed={onClose} onClose={closeEnding} />
      )}
      {ending === "transfer" && vault !== undefined && (
        <TransferVault {...{ session, vault }} onTransferred={onClose} onClose={closeEnding} />
      )}
    </Dialog>
  );
}

/** What takes the vault away from where it is. */
type Ending = "transfer" | "delete";

type SettingsFormProps = {
  readonly vault: VaultDetail;
  readonly onReload: () => void;
  readonly onClose: () => void;
  readonly onEnd: (ending: Ending) => void;
};

function SettingsForm({ vault, onReload, onClose, onEnd }: SettingsFormProps) {
  const { organisationId } = useAccess();
  const isShared = organisationId !== undefined;
  const [draft, setDraft] = useState(() => toSettingsDraft(vault));
  const [pathsError, setPathsError] = useState<string>();
  const { run, isBusy, error } = useMutation();
  const { proposal, attempt, discard } = useApproval();
  const { showToast } = useToasts();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const found = validatePathPatterns(draft.protectedPaths);
    setPathsError(found);
    if (found !== undefined) return;
    const reviewed = toReviewedSettings(draft, isShared);
    const save = async (): Promise<void> => {
      const body = { ...toDirectSettings(draft), ...reviewed };
      await request(vaultPath(vault.id), { method: "PATCH", body, revision: vault.revision });
      invalidate(vaultsPath, "/api/organisations");
      showToast("Vault settings saved");
      onClose();
    };
    void run(() => attempt(save, () => proposeSettings(vault, reviewed)));
  };
  if (proposal !== undefined) {
    const isPartial =
      draft.name.trim() !== vault.name || draft.requiresPreconditions !== vault.demands_preconditions;
    return (
      <ProposeForm {...{ proposal, onClose }} vaultId={vault.id} current={vault} onBack={discard}>
        {isPartial && (
          <Notice>The name and the If-Match setting need no approval. Save them separately.</Notice>
        )}
      </ProposeForm>
    );
  }
  return (
    <form className="stack" onSubmit={submit}>
      <SettingsFields {...{ vault, draft, isShared, pathsError }} onChange={setDraft} />
      {error !== undefined && <SettingsError error={error} onReload={onReload} />}
      <EndingSection isPersonal={vault.kind === "personal"} onEnd={onEnd} />
      <DialogActions>
        <button type="submit" className="button primary" disabled={isBusy}>
          Save
        </button>
      </DialogActions>
    </form>
  );
}

type EndingSectionProps = { readonly isPersonal: boolean; readonly onEnd: (ending: Ending) => void };

function EndingSection({ isPersonal, onEnd }: EndingSectionProps) {
  const { organisationId, allows } = useAccess();
  const organisation = useQuery<Organisation>(
    organisationId === undefined ? undefined : organisationPath(organisationId),
  );
  const isOwner =
    organisationId === undefined || (organisation.state === "loaded" && organisation.body.role === "owner");
  if (isPersonal) return <p className="muted small">Your personal vault cannot be transferred or deleted.</p>;
  return (
    <div className="row">
      {isOwner && (
        <button type="button" className="button" onClick={() => onEnd("transfer")}>
          Transfer vault…
        </button>
      )}
      {allows("vaults:delete") && (
        <button type="button" className="button" onClick={() => onEnd("delete")}>
          Delete vault…
        </button>
      )}
    </div>
  );
}

type SettingsErrorProps = { readonly error: Error; readonly onReload: () => void };

function SettingsError({ error, onReload }: SettingsErrorProps) {
  if (!isPreconditionFailed(error)) return <ErrorNotice text={error.message} />;
  return (
    <ErrorNotice
      text="The settings changed in the meantime. Try again to load them, then save."
      onRetry={onReload}
    />
  );
}

type DeleteVaultDialogProps = {
  readonly vault: VaultDetail;
  readonly onDeleted: () => void;
  /** Closes the settings too. */
  readonly onProposed: () => void;
  readonly onClose: () => void;
};

function DeleteVaultDialog({ vault, onDeleted, onProposed, onClose }: DeleteVaultDialogProps) {
  const mutation = useMutation();
  const approval = useApproval();
  const { showToast } = useToasts();
  const deleteVault = async (): Promise<void> => {
    await request(vaultPath(vault.id), { method: "DELETE", revision: vault.revision });
    invalidate(vaultsPath, "/api/organisations");
    showToast(`${vault.name} deleted; you can restore it for 30 days`);
    onDeleted();
  };
  return (
    <ApprovalDialog
      vaultId={vault.id}
      approval={approval}
      title={`Delete the vault ${vault.name}?`}
      onClose={approval.proposal === undefined ? onClose : onProposed}
    >
      <ConfirmContent
        action="Delete vault"
        mutation={mutation}
        onConfirm={() =>
          void mutation.run(() => approval.attempt(deleteVault, () => ({ delete_vault: true })))
        }
      >
        Programs can no longer read its secrets. You can restore the vault for 30 days; then it is erased
        permanently.
      </ConfirmContent>
    </ApprovalDialog>
  );
}
