import { Failed, Loading } from "@hearth-and-keep/page-design";
import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useEffect, useState } from "react";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { Conflict } from "./conflict.tsx";
import { type Draft, draftOf, mistakeIn } from "./draft.ts";
import type { SayWho } from "./format-actor.ts";
import { createSecret, isChangedMeanwhile, readStored, type Stored, saveSecret } from "./save-secret.ts";
import { ValueEditor } from "./value-editor.tsx";

export type EditSecretProps = {
  readonly vaultId: string;
  readonly secretId: string;
  readonly who: SayWho;
  /** With what it is now; undefined when it stays deleted. */
  readonly onSaved: (secret: SecretMetadata | undefined) => void;
  readonly onCancel: () => void;
};

/** From what is stored, over the draft, to the next version; or to a choice when somebody else was quicker. */
export function EditSecret({ vaultId, secretId, who, onSaved, onCancel }: EditSecretProps) {
  const [before, setBefore] = useState<Stored>();
  const [draft, setDraft] = useState<Draft>();
  const [conflict, setConflict] = useState<{ readonly theirs: Stored | undefined }>();
  const { run, isBusy, problem } = useDoing();
  const begin = async (): Promise<void> => {
    const stored = await readStored(vaultId, secretId);
    if (stored === undefined) return onSaved(undefined);
    setBefore(stored);
    setDraft(draftOf(stored.secret, stored.value));
  };
  // Once, when it is opened: what is written must not be replaced under the writer's hands.
  useEffect(() => void run(begin), []);
  if (before === undefined || draft === undefined) {
    return problem === undefined ? <Loading /> : <Failed text={problem.message} />;
  }
  const save = (onto: Stored): Promise<boolean> =>
    run(async () => {
      try {
        onSaved(await saveSecret({ vaultId, draft, before: onto }));
      } catch (thrown) {
        if (!isChangedMeanwhile(thrown)) throw thrown;
        setConflict({ theirs: await readStored(vaultId, secretId) });
      }
    });
  const saveAnew = (): Promise<boolean> =>
    run(async () => onSaved(await createSecret(vaultId, before.secret.path, draft)));
  if (conflict !== undefined) {
    const { theirs } = conflict;
    return (
      <>
        <Conflict
          mine={draft}
          theirs={theirs}
          isBusy={isBusy}
          who={who}
          onKeepTheirs={() => onSaved(theirs?.secret)}
          onSaveMine={() => void (theirs === undefined ? saveAnew() : save(theirs))}
          onEditOn={() => {
            if (theirs !== undefined) setBefore(theirs);
            setConflict(undefined);
          }}
        />
        {problem !== undefined && <Failed text={problem.message} />}
      </>
    );
  }
  return (
    <EditForm
      draft={draft}
      isBusy={isBusy}
      problem={problem?.message}
      onChange={setDraft}
      onSave={() => void save(before)}
      onCancel={onCancel}
    />
  );
}

type EditFormProps = {
  readonly draft: Draft;
  readonly isBusy: boolean;
  readonly problem: string | undefined;
  readonly onChange: (draft: Draft) => void;
  readonly onSave: () => void;
  readonly onCancel: () => void;
};

function EditForm({ draft, isBusy, problem, onChange, onSave, onCancel }: EditFormProps) {
  const [mistake, setMistake] = useState<string>();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const found = mistakeIn(draft, true);
    setMistake(found);
    if (found === undefined) onSave();
  };
  return (
    <form className="stack" onSubmit={submit} aria-label="Edit the secret">
      <ValueEditor draft={draft} mistake={mistake} hasValue onChange={onChange} />
      {problem !== undefined && <Failed text={problem} />}
      <div className="row">
        <button type="submit" className="button main" disabled={isBusy}>
          {isBusy ? "Saving…" : "Save"}
        </button>
        <button type="button" className="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}
