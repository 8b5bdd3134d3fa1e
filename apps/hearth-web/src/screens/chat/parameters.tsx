import { useId, useState } from "react";
import { Dialog } from "../../design/dialog.tsx";
import type { Settings } from "../../state/conversation.ts";

type Parameter = {
  readonly name: string;
  readonly label: string;
  readonly meaning: string;
  readonly least: number;
  readonly most: number;
  readonly step: number;
};

const parameters: readonly Parameter[] = [
  {
    name: "temperature",
    label: "Temperature",
    meaning: "How daring the choice of words is: 0 always takes the likeliest, 1 is lively, 2 is wild.",
    least: 0,
    most: 2,
    step: 0.05,
  },
  {
    name: "top_p",
    label: "Top p",
    meaning: "Only the likeliest words that together reach this share are considered. Smaller is safer.",
    least: 0,
    most: 1,
    step: 0.05,
  },
  {
    name: "top_k",
    label: "Top k",
    meaning: "At most this many words are considered at each step. 0 is no limit.",
    least: 0,
    most: 1000,
    step: 1,
  },
  {
    name: "num_predict",
    label: "Longest answer",
    meaning: "In tokens; a token is about three quarters of a word.",
    least: 1,
    most: 1_000_000,
    step: 1,
  },
  {
    name: "num_ctx",
    label: "Context",
    meaning: "How many tokens of the chat the model sees. More takes more memory, and loads the model anew.",
    least: 16,
    most: 10_000_000,
    step: 1,
  },
  {
    name: "repeat_penalty",
    label: "Repeat penalty",
    meaning: "Above 1, words that were just said become less likely.",
    least: 0.5,
    most: 2,
    step: 0.05,
  },
  {
    name: "seed",
    label: "Seed",
    meaning: "The same number gives the same answer to the same question. Empty is a new one each time.",
    least: 0,
    most: 4_294_967_295,
    step: 1,
  },
];

export type ParametersProps = {
  readonly settings: Settings;
  readonly onChange: (settings: Settings) => void;
  readonly onClose: () => void;
};

/** What this chat asks of the model, each with its meaning; what is left empty is the model's own choice. */
export function Parameters({ settings, onChange, onClose }: ParametersProps) {
  const id = useId();
  return (
    <Dialog title="Parameters of this chat" shape="wide" onClose={onClose}>
      <div className="field">
        <label htmlFor={id}>System prompt</label>
        <span className="hint" id={`${id}-hint`}>
          Who the model is and how it should answer, told before every chat.
        </span>
        <textarea
          id={id}
          className="input"
          rows={3}
          dir="auto"
          maxLength={100_000}
          aria-describedby={`${id}-hint`}
          placeholder="The model's own"
          value={settings.system}
          onChange={(event) => onChange({ ...settings, system: event.currentTarget.value })}
        />
      </div>
      <div className="parameter-grid">
        {parameters.map((parameter) => (
          <ParameterField
            key={parameter.name}
            parameter={parameter}
            value={settings.options[parameter.name]}
            onChange={(value) =>
              onChange({ ...settings, options: withOption(settings, parameter.name, value) })
            }
          />
        ))}
      </div>
      <p className="quiet small">
        What is left empty is the model's own. Changes hold from the next question on.
      </p>
    </Dialog>
  );
}

function withOption({ options }: Settings, name: string, value: number | undefined): Settings["options"] {
  const { [name]: _old, ...others } = options;
  return value === undefined ? others : { ...others, [name]: value };
}

type ParameterFieldProps = {
  readonly parameter: Parameter;
  readonly value: number | undefined;
  readonly onChange: (value: number | undefined) => void;
};

function ParameterField({ parameter, value, onChange }: ParameterFieldProps) {
  const { label, meaning, least, most, step } = parameter;
  const id = useId();
  const [text, setText] = useState(value === undefined ? "" : String(value));
  const isWrong = text !== "" && !isWithin(Number(text), parameter);
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="input"
        inputMode="decimal"
        placeholder="The model's own"
        aria-describedby={`${id}-hint`}
        aria-invalid={isWrong}
        value={text}
        onChange={({ currentTarget }) => {
          const typed = currentTarget.value.trim();
          setText(typed);
          onChange(typed !== "" && isWithin(Number(typed), parameter) ? Number(typed) : undefined);
        }}
      />
      <span className={isWrong ? "mistake" : "hint"} id={`${id}-hint`}>
        {isWrong ? `A ${step === 1 ? "whole " : ""}number from ${least} to ${most}` : meaning}
      </span>
    </div>
  );
}

function isWithin(value: number, { least, most, step }: Parameter): boolean {
  return value >= least && value <= most && (step < 1 || Number.isInteger(value));
}
