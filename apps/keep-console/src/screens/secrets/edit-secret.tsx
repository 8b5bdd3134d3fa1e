import { ErrorNotice, Loading } from "@hearth-and-keep/page-design";
import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useEffect, useState } from "react";
import { useMutation } from "../../vault-api/use-mutation.ts";
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
export function EditSecret({ vaultId, secretId, formatActor, onSaved, onCancel }: EditSecretProps) {
  const [stored, setStored] = useState<StoredSecret>();
  const [draft, setDraft] = useState<SecretDraft>();
  const [conflict, setConflict] = useState<{ readonly theirs: StoredSecret | undefined }>();
  const { run, isBusy, error } = useMutation();
  const load = async (): Promise<void> => {
    const loaded = await readSecret(vaultId, secretId);
    if (loaded === undefined) return onSaved(undefined);
    setStored(loaded);
    setDraft(toDraft(loaded.secret, loaded.value));
  };
  // Only on mount: a later change on the server must not replace the draft.
  useEffect(() => void run(load), []);
  if (stored === undefined || draft === undefined) {
    return error === undefined ? <Loading /> : <ErrorNotice text={error.message} />;
  }
  const save = (base: StoredSecret): Promise<boolean> =>
    run(async () => {
      try {
        onSaved(await saveSecret({ vaultId, draft, stored: base }));
      } catch (failure) {
        if (!isPreconditionFailed(failure)) throw failure;
        setConflict({ theirs: await readSecret(vaultId, secretId) });
      }
    });
  const saveAsNew = (): Promise<boolean> =>
    run(async () => onSaved(await createSecret(vaultId, stored.secret.path, draft)));
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
          onOverwrite={() => void (theirs === undefined ? saveAsNew() : save(theirs))}
          onKeepEditing={() => {
            if (theirs !== undefined) setStored(theirs);
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
      onSave={() => void save(stored)}
      onCancel={onCancel}
    />
  );
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
