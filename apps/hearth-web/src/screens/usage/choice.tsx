import { useId } from "react";

type Option = { readonly id: string; readonly label: string };

export type ChoiceProps<Each extends Option> = {
  readonly name: string;
  readonly options: readonly Each[];
  /** The id of an option. */
  readonly chosen: string;
  readonly onChoose: (option: Each) => void;
};

/** One of a few options, as a row of buttons. */
export function Choice<Each extends Option>({ name, options, chosen, onChoose }: ChoiceProps<Each>) {
  const id = useId();
  return (
    <fieldset className="choice" aria-labelledby={id}>
      <span id={id} className="muted small">
        {name}
      </span>
      {options.map((option) => (
        <button
          key={option.id}
          type="button"
          className="button small"
          aria-pressed={option.id === chosen}
          onClick={() => onChoose(option)}
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  );
}
