import { type InputHTMLAttributes, type ReactNode, type TextareaHTMLAttributes, useId } from "react";

type Around = {
  readonly label: string;
  readonly hint?: ReactNode;
  /** What is wrong with it, in words; read out when it appears. */
  readonly mistake?: string | undefined;
};

/** What ties a control to the words around it. */
type Tied = {
  readonly id: string;
  readonly className: string;
  readonly "aria-invalid": boolean;
  readonly "aria-describedby": string | undefined;
};

/** A label, the control, what to know about it, and what is wrong with it, tied together for every reader. */
function Field({ label, hint, mistake, draw }: Around & { readonly draw: (tied: Tied) => ReactNode }) {
  const id = useId();
  const describedBy = [hint === undefined ? "" : `${id}-hint`, mistake === undefined ? "" : `${id}-mistake`]
    .join(" ")
    .trim();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {hint !== undefined && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {draw({
        id,
        className: "input",
        "aria-invalid": mistake !== undefined,
        "aria-describedby": describedBy === "" ? undefined : describedBy,
      })}
      {mistake !== undefined && (
        <span className="mistake" id={`${id}-mistake`} role="alert">
          {mistake}
        </span>
      )}
    </div>
  );
}

export type TextFieldProps = Around & Omit<InputHTMLAttributes<HTMLInputElement>, "id" | "className">;

export function TextField({ label, hint, mistake, ...rest }: TextFieldProps) {
  return <Field label={label} hint={hint} mistake={mistake} draw={(tied) => <input {...rest} {...tied} />} />;
}

export type TextAreaProps = Around & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "id" | "className">;

export function TextArea({ label, hint, mistake, ...rest }: TextAreaProps) {
  return (
    <Field
      label={label}
      hint={hint}
      mistake={mistake}
      draw={(tied) => <textarea spellCheck={false} autoComplete="off" {...rest} {...tied} />}
    />
  );
}

export type SelectFieldProps = Around & {
  readonly value: string;
  readonly onChoose: (value: string) => void;
  readonly choices: readonly { readonly value: string; readonly label: string }[];
};

export function SelectField({ label, hint, mistake, value, onChoose, choices }: SelectFieldProps) {
  return (
    <Field
      label={label}
      hint={hint}
      mistake={mistake}
      draw={(tied) => (
        <select {...tied} value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
    />
  );
}

export type CheckFieldProps = {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly isChecked: boolean;
  readonly isDisabled?: boolean;
  readonly onChange: (isChecked: boolean) => void;
};

export function CheckField({ label, hint, isChecked, isDisabled = false, onChange }: CheckFieldProps) {
  const id = useId();
  return (
    <div className="choice">
      <input
        type="checkbox"
        id={id}
        checked={isChecked}
        disabled={isDisabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint !== undefined && (
          <div className="quiet small" id={`${id}-hint`}>
            {hint}
          </div>
        )}
      </div>
    </div>
  );
}
