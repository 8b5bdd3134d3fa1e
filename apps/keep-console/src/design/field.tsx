import { type InputHTMLAttributes, type ReactNode, type TextareaHTMLAttributes, useId } from "react";

type FieldText = {
  readonly label: string;
  readonly hint?: ReactNode;
  /** Validation message; screen readers announce it when it appears. */
  readonly error?: string | undefined;
};

/** Connects a control to its label, hint and error. */
type ControlAttributes = {
  readonly id: string;
  readonly className: string;
  readonly "aria-invalid": boolean;
  readonly "aria-describedby": string | undefined;
};

type FieldProps = FieldText & { readonly renderControl: (attributes: ControlAttributes) => ReactNode };

function Field({ label, hint, error, renderControl }: FieldProps) {
  const id = useId();
  const describedBy = [hint === undefined ? "" : `${id}-hint`, error === undefined ? "" : `${id}-error`]
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
      {renderControl({
        id,
        className: "input",
        "aria-invalid": error !== undefined,
        "aria-describedby": describedBy === "" ? undefined : describedBy,
      })}
      {error !== undefined && (
        <span className="field-error" id={`${id}-error`} role="alert">
          {error}
        </span>
      )}
    </div>
  );
}

export type TextFieldProps = FieldText & Omit<InputHTMLAttributes<HTMLInputElement>, "id" | "className">;

export function TextField({ label, hint, error, ...rest }: TextFieldProps) {
  return (
    <Field
      label={label}
      hint={hint}
      error={error}
      renderControl={(attributes) => <input {...rest} {...attributes} />}
    />
  );
}

export type TextAreaProps = FieldText & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "id" | "className">;

export function TextArea({ label, hint, error, ...rest }: TextAreaProps) {
  return (
    <Field
      label={label}
      hint={hint}
      error={error}
      renderControl={(attributes) => (
        <textarea spellCheck={false} autoComplete="off" {...rest} {...attributes} />
      )}
    />
  );
}

type SelectOption = { readonly value: string; readonly label: string };

export type SelectFieldProps = FieldText & {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly SelectOption[];
  /** Further options under headings. */
  readonly groups?: readonly { readonly label: string; readonly options: readonly SelectOption[] }[];
};

export function SelectField(props: SelectFieldProps) {
  const { label, hint, error, value, onChange, options, groups = [] } = props;
  return (
    <Field
      label={label}
      hint={hint}
      error={error}
      renderControl={(attributes) => (
        <select {...attributes} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          <Options options={options} />
          {groups.map((group) => (
            <optgroup key={group.label} label={group.label}>
              <Options options={group.options} />
            </optgroup>
          ))}
        </select>
      )}
    />
  );
}

function Options({ options }: Pick<SelectFieldProps, "options">) {
  return options.map(({ value, label }) => (
    <option key={value} value={value}>
      {label}
    </option>
  ));
}

export type CheckboxFieldProps = {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly isChecked: boolean;
  readonly isDisabled?: boolean;
  readonly onChange: (isChecked: boolean) => void;
};

export function CheckboxField({ label, hint, isChecked, isDisabled = false, onChange }: CheckboxFieldProps) {
  const id = useId();
  return (
    <div className="checkbox-field">
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
          <div className="muted small" id={`${id}-hint`}>
            {hint}
          </div>
        )}
      </div>
    </div>
  );
}
