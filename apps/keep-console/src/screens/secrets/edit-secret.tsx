import { ErrorNotice, Loading } from "@hearth-and-keep/page-design";
import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useEffect, useState } from "react";
import { type Mutation, useMutation } from "../../vault-api/use-mutation.ts";
import { ProposeForm } from "../approvals/approval-dialog.tsx";
import { type Proposal, proposeNewSecret, proposeSecretVersion } from "../approvals/proposal.ts";
import { useApproval } from "../approvals/use-approval.ts";
import { EditConflict } from "./edit-conflict.tsx";
import type { FormatActor } from "./format-actor.ts";
import {
  createSecret,
  describeSaveError,
  isPreconditionFailed,
  readSecret,
  type StoredSecret,
  saveSecret,
} from "./save-secret.ts";
import { type SecretDraft, toDraft, validateDraft } from "./secret-draft.ts";
import { ValueEditor } from "./value-editor.tsx";

export type EditSecretProps = {
  readonly vaultId: string;
  readonly secretId: string;
  readonly formatActor: FormatActor;
  /** Receives the secret as it is now; undefined when it stays deleted. */
  readonly onSaved: (secret: SecretMetadata | undefined) => void;
  readonly onCancel: () => void;
};

/** Loads the secret, edits a draft and saves it as the next version; a concurrent change opens the conflict view. */
export function EditSecret(props: EditSecretProps) {
  const { vaultId, secretId, formatActor, onSaved, onCancel } = props;
  const { run, isBusy, error } = useMutation();
  const { stored, setStored, draft, setDraft } = useStoredDraft(props, run);
  const [conflict, setConflict] = useState<{ readonly theirs: StoredSecret | undefined }>();
  const { proposal, attempt, discard } = useApproval();
  if (stored === undefined || draft === undefined) {
    return error === undefined ? <Loading /> : <ErrorNotice text={error.message} />;
  }
  const send = (base: StoredSecret | undefined): Promise<boolean> =>
    run(async () => {
      const target = { vaultId, draft, base, path: stored.secret.path };
      try {
        await attempt(
          async () => onSaved(await saveDraft(target)),
          () => proposeDraft(target),
        );
      } catch (failure) {
        if (base === undefined || !isPreconditionFailed(failure)) throw failure;
        setConflict({ theirs: await readSecret(vaultId, secretId) });
      }
    });
  if (proposal !== undefined)
    return <ProposeForm {...{ vaultId, proposal }} onBack={discard} onClose={onCancel} />;
  if (conflict !== undefined) {
    const { theirs } = conflict;
    return (
      <>
        <EditConflict
          mine={draft}
          theirs={theirs}
          isBusy={isBusy}
          formatActor={formatActor}
          onKeepTheirs={() => onSaved(theirs?.secret)}
          onOverwrite={() => void send(theirs)}
          onKeepEditing={() => {
            setStored(theirs ?? stored);
            setConflict(undefined);
          }}
        />
        {error !== undefined && <ErrorNotice text={describeSaveError(error)} />}
      </>
    );
  }
  return (
    <EditForm
      draft={draft}
      isBusy={isBusy}
      error={error === undefined ? undefined : describeSaveError(error)}
      onChange={setDraft}
      onSave={() => void send(stored)}
      onCancel={onCancel}
    />
  );
}

/** Loads the secret once, and keeps the draft that is based on it. */
function useStoredDraft({ vaultId, secretId, onSaved }: EditSecretProps, run: Mutation["run"]) {
  const [stored, setStored] = useState<StoredSecret>();
  const [draft, setDraft] = useState<SecretDraft>();
  const load = async (): Promise<void> => {
    const loaded = await readSecret(vaultId, secretId);
    if (loaded === undefined) return onSaved(undefined);
    setStored(loaded);
    setDraft(toDraft(loaded.secret, loaded.value));
  };
  // Only on mount: a later change on the server must not replace the draft.
  useEffect(() => void run(load), []);
  return { stored, setStored, draft, setDraft };
}

type SaveTarget = {
  readonly vaultId: string;
  readonly draft: SecretDraft;
  readonly path: string;
  /** Undefined if the secret no longer exists: then a new one is saved at its path. */
  readonly base: StoredSecret | undefined;
};

function saveDraft({ vaultId, draft, path, base }: SaveTarget): Promise<SecretMetadata> {
  return base === undefined
    ? createSecret(vaultId, path, draft)
    : saveSecret({ vaultId, draft, stored: base });
}

function proposeDraft({ draft, path, base }: SaveTarget): Proposal {
  return base === undefined ? proposeNewSecret(path, draft) : proposeSecretVersion(base, draft);
}

type EditFormProps = {
  readonly draft: SecretDraft;
  readonly isBusy: boolean;
  readonly error: string | undefined;
  readonly onChange: (draft: SecretDraft) => void;
  readonly onSave: () => void;
  readonly onCancel: () => void;
};

function EditForm({ draft, isBusy, error, onChange, onSave, onCancel }: EditFormProps) {
  const [valueError, setValueError] = useState<string>();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const found = validateDraft(draft, true);
    setValueError(found);
    if (found === undefined) onSave();
  };
  return (
    <form className="stack" onSubmit={submit} aria-label="Edit secret">
      <ValueEditor draft={draft} error={valueError} hasStoredValue onChange={onChange} />
      {error !== undefined && <ErrorNotice text={error} />}
      <div className="row">
        <button type="submit" className="button primary" disabled={isBusy}>
          {isBusy ? "Saving…" : "Save"}
        </button>
        <button type="button" className="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}
