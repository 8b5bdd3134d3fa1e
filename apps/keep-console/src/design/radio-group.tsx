import { useId } from "react";

export type RadioOption<Value extends string> = {
  readonly value: Value;
  readonly label: string;
  readonly hint: string;
};

export type RadioGroupProps<Value extends string> = {
  readonly legend: string;
  readonly value: Value;
  readonly options: readonly RadioOption<Value>[];
  readonly onChange: (value: Value) => void;
};

/** One choice of a few, each with a line of explanation. Arrow keys move the choice. */
export function RadioGroup<Value extends string>(props: RadioGroupProps<Value>) {
  const { legend, value, options, onChange } = props;
  const id = useId();
  return (
    <fieldset className="radio-group">
      <legend>{legend}</legend>
      {options.map((option) => (
        <div key={option.value} className="checkbox-field">
          <input
            type="radio"
            id={`${id}-${option.value}`}
            name={id}
            checked={option.value === value}
            aria-describedby={`${id}-${option.value}-hint`}
            onChange={() => onChange(option.value)}
          />
          <div>
            <label htmlFor={`${id}-${option.value}`}>{option.label}</label>
            <div className="muted small" id={`${id}-${option.value}-hint`}>
              {option.hint}
            </div>
          </div>
        </div>
      ))}
    </fieldset>
  );
}
