import { useId } from "react";
import { SelectField, TextArea, TextField } from "../../design/field.tsx";
import { isBinary, type SecretDraft, type SecretType } from "./secret-draft.ts";
import { useRevealTimer } from "./use-reveal-timer.ts";
import { formatBytes, readAsBase64 } from "./value-bytes.ts";

export const secretTypeLabels: Readonly<Record<SecretType, string>> = {
  text: "Text",
  json: "JSON",
  binary: "Binary",
  file: "File",
};

const typeOptions: readonly { readonly value: SecretType; readonly label: string }[] = [
  { value: "text", label: secretTypeLabels.text },
  { value: "json", label: secretTypeLabels.json },
  { value: "binary", label: `${secretTypeLabels.binary} (up to 64 KiB)` },
  { value: "file", label: `${secretTypeLabels.file} (up to 1 MiB)` },
];

export type ValueEditorProps = {
  readonly draft: SecretDraft;
  readonly error: string | undefined;
  /** Whether leaving the file field empty keeps stored bytes. */
  readonly hasStoredValue: boolean;
  readonly onChange: (draft: SecretDraft) => void;
};

/** The fields of a secret except its name. After 30 idle seconds value and note are hidden; the draft keeps them. */
export function ValueEditor(props: ValueEditorProps) {
  const { draft, onChange } = props;
  const timer = useRevealTimer(true);
  const changeRevealed = (next: SecretDraft): void => {
    timer.show();
    onChange(next);
  };
  const isRevealed = timer.secondsLeft !== undefined;
  return (
    <>
      {isRevealed ? (
        <ValueField {...props} onChange={changeRevealed} />
      ) : (
        <HiddenField label="Value and note" onShow={timer.show} />
      )}
      <SelectField
        label="Type"
        value={draft.type}
        options={typeOptions}
        onChange={(selected) =>
          onChange({ ...draft, type: typeOptions.find(({ value }) => value === selected)?.value ?? "text" })
        }
      />
      <TextField
        label="Tags"
        hint="Comma-separated"
        value={draft.tags}
        maxLength={2200}
        autoComplete="off"
        onChange={(event) => onChange({ ...draft, tags: event.currentTarget.value })}
      />
      {isRevealed && (
        <TextArea
          label="Note"
          hint="Encrypted; shown only when the value is revealed"
          value={draft.note}
          rows={2}
          maxLength={4096}
          onChange={(event) => changeRevealed({ ...draft, note: event.currentTarget.value })}
        />
      )}
    </>
  );
}

type HiddenFieldProps = { readonly label: string; readonly onShow: () => void };

/** Replaces a field with a secret value while the reveal timer is not running. */
export function HiddenField({ label, onShow }: HiddenFieldProps) {
  return (
    <div className="field">
      <span className="label">{label}</span>
      <div className="value hidden-value">
        <span className="muted">Hidden due to inactivity. Your input is kept.</span>
      </div>
      <div>
        <button type="button" className="button" onClick={onShow}>
          Continue editing
        </button>
      </div>
    </div>
  );
}

function ValueField(props: ValueEditorProps) {
  const { draft, error, onChange } = props;
  if (isBinary(draft.type)) return <FileField {...props} />;
  return (
    <TextArea
      label="Value"
      value={draft.text}
      error={error}
      rows={6}
      autoCapitalize="off"
      onChange={(event) => onChange({ ...draft, text: event.currentTarget.value })}
    />
  );
}

function FileField({ draft, error, hasStoredValue, onChange }: ValueEditorProps) {
  const id = useId();
  const chooseFile = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    onChange({ ...draft, file: { name: file.name, size: file.size, base64: await readAsBase64(file) } });
  };
  const hint = hasStoredValue
    ? "Leave empty to keep the stored value"
    : "The file's content becomes the value";
  return (
    <div className="field">
      <label htmlFor={id}>File</label>
      <span className="hint" id={`${id}-hint`}>
        {draft.file === undefined ? hint : `${draft.file.name}, ${formatBytes(draft.file.size)}`}
      </span>
      <input
        id={id}
        type="file"
        className="input file"
        aria-describedby={`${id}-hint`}
        aria-invalid={error !== undefined}
        onChange={(event) => void chooseFile(event.currentTarget.files?.[0])}
      />
      {error !== undefined && (
        <span className="field-error" role="alert">
          {error}
        </span>
      )}
    </div>
  );
}
