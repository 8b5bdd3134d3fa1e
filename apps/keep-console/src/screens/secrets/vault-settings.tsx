import { Failed, Loading } from "@hearth-and-keep/page-design";
import type { VaultDetail } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useEffect, useState } from "react";
import { Confirm } from "../../design/confirm.tsx";
import { Dialog, DialogEnding } from "../../design/dialog.tsx";
import { CheckField, TextField } from "../../design/field.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { changed } from "../../vault-api/use-query.ts";
import { vaultPath, vaultsPath } from "./api-paths.ts";
import { isChangedMeanwhile } from "./save-secret.ts";

export type VaultSettingsProps = {
  readonly vaultId: string;
  readonly onDeleted: () => void;
  readonly onClose: () => void;
};

export function VaultSettings({ vaultId, onDeleted, onClose }: VaultSettingsProps) {
  const [vault, setVault] = useState<VaultDetail>();
  const [isDeleting, setIsDeleting] = useState(false);
  const { run, problem } = useDoing();
  const read = (): void => {
    void run(async () => setVault((await ask<VaultDetail>(vaultPath(vaultId))).body));
  };
  useEffect(read, [run, vaultId]);
  return (
    <Dialog title="Settings of this vault" onClose={onClose}>
      {problem !== undefined && <Failed text={problem.message} onRetry={read} />}
      {vault === undefined && problem === undefined && <Loading lines={3} />}
      {vault !== undefined && (
        <SettingsForm
          key={vault.revision}
          vault={vault}
          onRead={read}
          onClose={onClose}
          onDelete={() => setIsDeleting(true)}
        />
      )}
      {isDeleting && vault !== undefined && (
        <DeleteVault vault={vault} onDeleted={onDeleted} onClose={() => setIsDeleting(false)} />
      )}
    </Dialog>
  );
}

type SettingsFormProps = {
  readonly vault: VaultDetail;
  readonly onRead: () => void;
  readonly onClose: () => void;
  readonly onDelete: () => void;
};

function SettingsForm({ vault, onRead, onClose, onDelete }: SettingsFormProps) {
  const [name, setName] = useState(vault.name);
  const [isStrict, setIsStrict] = useState(vault.demands_preconditions);
  const [most, setMost] = useState(String(vault.most_versions));
  const { run, isBusy, problem } = useDoing();
  const { tell } = useToasts();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void run(async () => {
      const body = { name: name.trim(), demands_preconditions: isStrict, most_versions: Number(most) };
      await ask(vaultPath(vault.id), { method: "PATCH", body, revision: vault.revision });
      changed(vaultsPath);
      tell("The vault's settings are saved");
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
        label="Versions kept of each secret"
        hint="When a secret has that many, older ones must be destroyed before a new one is saved"
        type="number"
        min={1}
        max={10_000}
        required
        value={most}
        onChange={(event) => setMost(event.currentTarget.value)}
      />
      <CheckField
        label="Refuse writes that do not say what they replace"
        hint="Programs must send If-Match or If-None-Match, so that none overwrites another's change unseen"
        isChecked={isStrict}
        onChange={setIsStrict}
      />
      {problem !== undefined && <SettingsProblem problem={problem} onRead={onRead} />}
      {vault.kind === "personal" && <p className="quiet small">The personal vault cannot be deleted.</p>}
      <DialogEnding>
        {vault.kind !== "personal" && (
          <button type="button" className="button" onClick={onDelete}>
            Delete this vault…
          </button>
        )}
        <button type="submit" className="button main" disabled={isBusy}>
          Save
        </button>
      </DialogEnding>
    </form>
  );
}

type SettingsProblemProps = { readonly problem: Error; readonly onRead: () => void };

function SettingsProblem({ problem, onRead }: SettingsProblemProps) {
  if (!isChangedMeanwhile(problem)) return <Failed text={problem.message} />;
  return (
    <Failed
      text="It changed in the meantime. Try again reads it anew; then save once more."
      onRetry={onRead}
    />
  );
}

type DeleteVaultProps = {
  readonly vault: VaultDetail;
  readonly onDeleted: () => void;
  readonly onClose: () => void;
};

function DeleteVault({ vault, onDeleted, onClose }: DeleteVaultProps) {
  const doing = useDoing();
  const { tell } = useToasts();
  const remove = async (): Promise<void> => {
    await ask(vaultPath(vault.id), { method: "DELETE", revision: vault.revision });
    changed(vaultsPath);
    tell(`${vault.name} is deleted; it can be restored for 30 days`);
    onDeleted();
  };
  return (
    <Confirm
      title={`Delete the vault ${vault.name}?`}
      action="Delete the vault"
      doing={doing}
      onConfirm={() => void doing.run(remove)}
      onClose={onClose}
    >
      Programs can no longer read anything in it, from now on. It can be restored for 30 days; afterwards
      everything in it is erased for good.
    </Confirm>
  );
}
