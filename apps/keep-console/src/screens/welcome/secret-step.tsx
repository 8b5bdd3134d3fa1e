import { ErrorNotice } from "@hearth-and-keep/page-design";
import type { SecretMetadata, SecretPage } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useState } from "react";
import { TextArea, TextField } from "../../design/field.tsx";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { useQuery } from "../../vault-api/use-query.ts";
import { vaultPath } from "../secrets/api-paths.ts";
import { createSecret, isPreconditionFailed } from "../secrets/save-secret.ts";
import { emptyDraft, validateDraft } from "../secrets/secret-draft.ts";
import { joinPath } from "../secrets/secrets-location.ts";
import { useRevealTimer } from "../secrets/use-reveal-timer.ts";

export type SecretStepProps = {
  readonly vaultId: string;
  readonly onCreated: (secret: SecretMetadata) => void;
};

export function SecretStep({ vaultId, onCreated }: SecretStepProps) {
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const [fieldErrors, setFieldErrors] = useState<{ readonly name?: string; readonly value?: string }>({});
  const { isBusy, error, run } = useMutation();
  const draft = { ...emptyDraft, text: value };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const found = validateFields(name, value, validateDraft(draft, false));
    setFieldErrors(found);
    if (Object.keys(found).length > 0) return;
    void run(async () => onCreated(await createSecret(vaultId, joinPath("/", name.trim()), draft)));
  };
  return (
    <form className="stack" noValidate onSubmit={submit}>
      <TextField
        label="Name"
        hint="For example DATABASE_PASSWORD"
        autoComplete="off"
        spellCheck={false}
        maxLength={255}
        value={name}
        error={fieldErrors.name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <ValueField value={value} error={fieldErrors.value} onChange={setValue} />
      {error !== undefined && (
        <ErrorNotice
          text={
            isPreconditionFailed(error)
              ? `A secret named ${name.trim()} already exists. Choose another name or use that secret.`
              : error.message
          }
        />
      )}
      <div className="row">
        <button type="submit" className="button primary" disabled={isBusy}>
          {isBusy ? "Saving…" : "Save secret"}
        </button>
        <UseExistingSecret vaultId={vaultId} onChosen={onCreated} />
      </div>
    </form>
  );
}

function validateFields(name: string, value: string, draftError: string | undefined) {
  const valueError = value === "" ? "Enter a value; any text works for a test" : draftError;
  return {
    ...(name.trim() === "" ? { name: "Enter a name" } : {}),
    ...(valueError === undefined ? {} : { value: valueError }),
  };
}

type ValueFieldProps = {
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
};

/** Hidden after 30 idle seconds; the input is kept. */
function ValueField({ value, error, onChange }: ValueFieldProps) {
  const timer = useRevealTimer(true);
  if (value !== "" && timer.secondsLeft === undefined) {
    return (
      <div className="field">
        <span className="label">Value</span>
        <div className="row">
          <span className="muted">Hidden due to inactivity. Your input is kept.</span>
          <button type="button" className="button" onClick={timer.show}>
            Continue editing
          </button>
        </div>
      </div>
    );
  }
  return (
    <TextArea
      label="Value"
      hint="Encrypted before it is stored"
      rows={2}
      autoCapitalize="off"
      value={value}
      error={error}
      onChange={(event) => {
        timer.show();
        onChange(event.currentTarget.value);
      }}
    />
  );
}

type UseExistingSecretProps = {
  readonly vaultId: string;
  readonly onChosen: (secret: SecretMetadata) => void;
};

function UseExistingSecret({ vaultId, onChosen }: UseExistingSecretProps) {
  const page = useQuery<SecretPage>(`${vaultPath(vaultId)}/secrets?path=%2F&recursive=true&limit=1`);
  const [secret] = page.state === "loaded" ? page.body.items : [];
  if (secret === undefined) return null;
  return (
    <button type="button" className="button existing-secret" onClick={() => onChosen(secret)}>
      <span className="truncate">Use existing {secret.path}</span>
    </button>
  );
}
