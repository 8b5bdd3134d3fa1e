import { ErrorNotice } from "@hearth-and-keep/page-design";
import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useState } from "react";
import { DialogActions } from "../../design/dialog.tsx";
import { TextField } from "../../design/field.tsx";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { ApprovalDialog } from "../approvals/approval-dialog.tsx";
import { proposeNewSecret } from "../approvals/proposal.ts";
import { useApproval } from "../approvals/use-approval.ts";
import { createSecret, isPreconditionFailed } from "./save-secret.ts";
import { emptyDraft, type SecretDraft, validateDraft } from "./secret-draft.ts";
import { joinPath } from "./secrets-location.ts";
import { ValueEditor } from "./value-editor.tsx";

export type NewSecretDialogProps = {
  readonly vaultId: string;
  readonly folder: string;
  readonly onCreated: (secret: SecretMetadata) => void;
  readonly onClose: () => void;
};

export function NewSecretDialog({ vaultId, folder, onCreated, onClose }: NewSecretDialogProps) {
  const [name, setName] = useState("");
  const [draft, setDraft] = useState<SecretDraft>(emptyDraft);
  const [valueError, setValueError] = useState<string>();
  const { run, isBusy, error } = useMutation();
  const approval = useApproval();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const found = validateDraft(draft, false);
    setValueError(found);
    if (found !== undefined) return;
    const path = joinPath(folder, name.trim());
    const create = async (): Promise<void> => onCreated(await createSecret(vaultId, path, draft));
    void run(() => approval.attempt(create, () => proposeNewSecret(path, draft)));
  };
  const hint =
    folder === "/" ? "Slashes create folders, e.g. prod/api/KEY" : `In ${folder}. Slashes create subfolders.`;
  return (
    <ApprovalDialog {...{ vaultId, approval, onClose }} title="New secret" staysOpenOnOutsidePress>
      <form className="stack" onSubmit={submit}>
        <TextField
          label="Name"
          hint={hint}
          required
          autoComplete="off"
          spellCheck={false}
          maxLength={2300}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <ValueEditor draft={draft} error={valueError} hasStoredValue={false} onChange={setDraft} />
        {error !== undefined && (
          <ErrorNotice
            text={
              isPreconditionFailed(error)
                ? `A secret named ${name.trim()} already exists. Choose another name or edit that secret.`
                : error.message
            }
          />
        )}
        <DialogActions>
          <button type="submit" className="button primary" disabled={isBusy}>
            {isBusy ? "Saving…" : "Save"}
          </button>
        </DialogActions>
      </form>
    </ApprovalDialog>
  );
}
