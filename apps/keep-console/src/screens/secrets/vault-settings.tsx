import { ErrorNotice, Loading } from "@hearth-and-keep/page-design";
import type { VaultDetail } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useEffect, useState } from "react";
import { ConfirmDialog } from "../../design/confirm-dialog.tsx";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { CheckboxField, TextField } from "../../design/field.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { vaultPath, vaultsPath } from "./api-paths.ts";
import { isPreconditionFailed } from "./save-secret.ts";

export type VaultSettingsProps = {
  readonly vaultId: string;
  readonly onDeleted: () => void;
  readonly onClose: () => void;
};

export function VaultSettings({ vaultId, onDeleted, onClose }: VaultSettingsProps) {
  const [vault, setVault] = useState<VaultDetail>();
  const [isDeleting, setIsDeleting] = useState(false);
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
          onDelete={() => setIsDeleting(true)}
        />
      )}
      {isDeleting && vault !== undefined && (
        <DeleteVaultDialog vault={vault} onDeleted={onDeleted} onClose={() => setIsDeleting(false)} />
      )}
    </Dialog>
  );
}

type SettingsFormProps = {
  readonly vault: VaultDetail;
  readonly onReload: () => void;
  readonly onClose: () => void;
  readonly onDelete: () => void;
};

const versionsHints = {
  "destroy-oldest": "At the limit, a new version destroys the oldest one.",
  refuse: "At the limit, a version must be destroyed before a new one can be saved.",
} as const;

function SettingsForm({ vault, onReload, onClose, onDelete }: SettingsFormProps) {
  const [name, setName] = useState(vault.name);
  const [requiresPreconditions, setRequiresPreconditions] = useState(vault.demands_preconditions);
  const [maxVersions, setMaxVersions] = useState(String(vault.most_versions));
  const { run, isBusy, error } = useMutation();
  const { showToast } = useToasts();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void run(async () => {
      const body = {
        name: name.trim(),
        demands_preconditions: requiresPreconditions,
        most_versions: Number(maxVersions),
      };
      await request(vaultPath(vault.id), { method: "PATCH", body, revision: vault.revision });
      invalidate(vaultsPath);
      showToast("Vault settings saved");
      onClose();
    });
  };
  return (
    <form className="stack" onSubmit={submit}>
      <TextField
        label="Name"
        required
        maxLength={255}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextField
        label="Maximum versions per secret"
        hint={versionsHints[vault.when_versions_full]}
        type="number"
        min={1}
        max={10_000}
        required
        value={maxVersions}
        onChange={(event) => setMaxVersions(event.currentTarget.value)}
      />
      <CheckboxField
        label="Require If-Match on writes"
        hint="Programs must send If-Match or If-None-Match, so that they cannot overwrite each other's changes."
        isChecked={requiresPreconditions}
        onChange={setRequiresPreconditions}
      />
      {error !== undefined && <SettingsError error={error} onReload={onReload} />}
      <DeleteSection isPersonal={vault.kind === "personal"} onDelete={onDelete} />
      <DialogActions>
        <button type="submit" className="button primary" disabled={isBusy}>
          Save
        </button>
      </DialogActions>
    </form>
  );
}

type DeleteSectionProps = { readonly isPersonal: boolean; readonly onDelete: () => void };

function DeleteSection({ isPersonal, onDelete }: DeleteSectionProps) {
  if (isPersonal) return <p className="muted small">Your personal vault cannot be deleted.</p>;
  return (
    <div>
      <button type="button" className="button" onClick={onDelete}>
        Delete vault…
      </button>
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
  readonly onClose: () => void;
};

function DeleteVaultDialog({ vault, onDeleted, onClose }: DeleteVaultDialogProps) {
  const mutation = useMutation();
  const { showToast } = useToasts();
  const deleteVault = async (): Promise<void> => {
    await request(vaultPath(vault.id), { method: "DELETE", revision: vault.revision });
    invalidate(vaultsPath);
    showToast(`${vault.name} deleted; you can restore it for 30 days`);
    onDeleted();
  };
  return (
    <ConfirmDialog
      title={`Delete the vault ${vault.name}?`}
      action="Delete vault"
      mutation={mutation}
      onConfirm={() => void mutation.run(deleteVault)}
      onClose={onClose}
    >
      Programs can no longer read its secrets. You can restore the vault for 30 days; then it is erased
      permanently.
    </ConfirmDialog>
  );
}
