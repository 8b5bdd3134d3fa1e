import { Failed } from "@hearth-and-keep/page-design";
import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useState } from "react";
import { Dialog, DialogEnding } from "../../design/dialog.tsx";
import { TextField } from "../../design/field.tsx";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { type Draft, emptyDraft, mistakeIn } from "./draft.ts";
import { createSecret, isChangedMeanwhile } from "./save-secret.ts";
import { joinPath } from "./secrets-location.ts";
import { ValueEditor } from "./value-editor.tsx";

export type NewSecretProps = {
  readonly vaultId: string;
  readonly folder: string;
  readonly onMade: (secret: SecretMetadata) => void;
  readonly onClose: () => void;
};

export function NewSecret({ vaultId, folder, onMade, onClose }: NewSecretProps) {
  const [name, setName] = useState("");
  const [draft, setDraft] = useState<Draft>(emptyDraft);
  const [mistake, setMistake] = useState<string>();
  const { run, isBusy, problem } = useDoing();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const found = mistakeIn(draft, false);
    setMistake(found);
    if (found !== undefined) return;
    void run(async () => onMade(await createSecret(vaultId, joinPath(folder, name.trim()), draft)));
  };
  const hint =
    folder === "/"
      ? "A slash makes folders, as in prod/api/KEY"
      : `Goes into ${folder}; a slash makes folders within it`;
  return (
    <Dialog title="New secret" onClose={onClose} staysOnOutsidePress>
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
        <ValueEditor draft={draft} mistake={mistake} hasValue={false} onChange={setDraft} />
        {problem !== undefined && (
          <Failed
            text={
              isChangedMeanwhile(problem)
                ? `There is a secret called ${name.trim()} already. Choose another name, or open it and edit it.`
                : problem.message
            }
          />
        )}
        <DialogEnding>
          <button type="submit" className="button main" disabled={isBusy}>
            {isBusy ? "Saving…" : "Save"}
          </button>
        </DialogEnding>
      </form>
    </Dialog>
  );
}
