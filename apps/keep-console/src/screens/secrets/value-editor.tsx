import { useId } from "react";
import { SelectField, TextArea, TextField } from "../../design/field.tsx";
import { type Draft, isOfBytes, type SecretType } from "./draft.ts";
import { useSight } from "./use-reveal-timer.ts";
import { readAsBase64, saySize } from "./value-bytes.ts";

const types: readonly { readonly value: SecretType; readonly label: string }[] = [
  { value: "text", label: "Text" },
  { value: "json", label: "JSON" },
  { value: "binary", label: "Bytes, up to 64 KiB" },
  { value: "file", label: "File, up to 1 MiB" },
];

export type ValueEditorProps = {
  readonly draft: Draft;
  readonly mistake: string | undefined;
  /** What is there stays when no file is chosen. */
  readonly hasValue: boolean;
  readonly onChange: (draft: Draft) => void;
};

/**
 * The fields of a value and what belongs to it. Value and note leave the page when nobody has written for a while; what
 * was written stays, and can be shown again.
 */
export function ValueEditor(props: ValueEditorProps) {
  const { draft, onChange } = props;
  const sight = useSight(true);
  const write = (next: Draft): void => {
    sight.show();
    onChange(next);
  };
  const isSeen = sight.secondsLeft !== undefined;
  return (
    <>
      {isSeen ? (
        <ValueField {...props} onChange={write} />
      ) : (
        <AwayField label="Value and note" onReturn={sight.show} />
      )}
      <SelectField
        label="Kind"
        value={draft.type}
        choices={types}
        onChoose={(chosen) =>
          onChange({ ...draft, type: types.find(({ value }) => value === chosen)?.value ?? "text" })
        }
      />
      <TextField
        label="Tags"
        hint="With commas between them"
        value={draft.tags}
        maxLength={2200}
        autoComplete="off"
        onChange={(event) => onChange({ ...draft, tags: event.currentTarget.value })}
      />
      {isSeen && (
        <TextArea
          label="Note"
          hint="Sealed like the value, and shown only with it"
          value={draft.note}
          rows={2}
          maxLength={4096}
          onChange={(event) => write({ ...draft, note: event.currentTarget.value })}
        />
      )}
    </>
  );
}

type AwayFieldProps = { readonly label: string; readonly onReturn: () => void };

/** What is full of values leaves the page when nobody has written for a while. */
export function AwayField({ label, onReturn }: AwayFieldProps) {
  return (
    <div className="field">
      <span className="label">{label}</span>
      <div className="value hidden-value">
        <span className="quiet">Hidden while you were away. Nothing is lost.</span>
      </div>
      <div>
        <button type="button" className="button" onClick={onReturn}>
          Go on editing
        </button>
      </div>
    </div>
  );
}

function ValueField(props: ValueEditorProps) {
  const { draft, mistake, onChange } = props;
  if (isOfBytes(draft.type)) return <FileChooser {...props} />;
  return (
    <TextArea
      label="Value"
      value={draft.text}
      mistake={mistake}
      rows={6}
      autoCapitalize="off"
      onChange={(event) => onChange({ ...draft, text: event.currentTarget.value })}
    />
  );
}

function FileChooser({ draft, mistake, hasValue, onChange }: ValueEditorProps) {
  const id = useId();
  const choose = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    onChange({ ...draft, file: { name: file.name, size: file.size, base64: await readAsBase64(file) } });
  };
  const hint = hasValue ? "Leave it empty to keep the bytes that are there" : "Its bytes become the value";
  return (
    <div className="field">
      <label htmlFor={id}>Choose a file</label>
      <span className="hint" id={`${id}-hint`}>
        {draft.file === undefined ? hint : `${draft.file.name}, ${saySize(draft.file.size)}`}
      </span>
      <input
        id={id}
        type="file"
        className="input file"
        aria-describedby={`${id}-hint`}
        aria-invalid={mistake !== undefined}
        onChange={(event) => void choose(event.currentTarget.files?.[0])}
      />
      {mistake !== undefined && (
        <span className="mistake" role="alert">
          {mistake}
        </span>
      )}
    </div>
  );
}
