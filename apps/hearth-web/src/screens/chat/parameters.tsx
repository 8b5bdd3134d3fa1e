import { useId, useState } from "react";
import { Dialog } from "../../design/dialog.tsx";
import type { Settings } from "../../state/conversation.ts";

type Parameter = {
  readonly name: string;
  readonly label: string;
  readonly help: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
};

const parameters: readonly Parameter[] = [
  {
    name: "temperature",
    label: "Temperature",
    help: "Higher is more random. 0 always picks the most likely token.",
    min: 0,
    max: 2,
    step: 0.05,
  },
  {
    name: "top_p",
    label: "Top p",
    help: "Samples from the most likely tokens whose probabilities add up to this value.",
    min: 0,
    max: 1,
    step: 0.05,
  },
  {
    name: "top_k",
    label: "Top k",
    help: "Samples from at most this many tokens. 0 means no limit.",
    min: 0,
    max: 1000,
    step: 1,
  },
  {
    name: "num_predict",
    label: "Max output tokens",
    help: "A token is about three quarters of a word.",
    min: 1,
    max: 1_000_000,
    step: 1,
  },
  {
    name: "num_ctx",
    label: "Context length",
    help: "Tokens of the chat that the model sees. More uses more memory; a change reloads the model.",
    min: 16,
    max: 10_000_000,
    step: 1,
  },
  {
    name: "repeat_penalty",
    label: "Repeat penalty",
    help: "Above 1, repeated tokens become less likely.",
    min: 0.5,
    max: 2,
    step: 0.05,
  },
  {
    name: "seed",
    label: "Seed",
    help: "The same seed and prompt give the same response. Empty means a random seed.",
    min: 0,
    max: 4_294_967_295,
    step: 1,
  },
];

export type ParametersProps = {
  readonly settings: Settings;
  readonly onChange: (settings: Settings) => void;
  readonly onClose: () => void;
};

/** The system prompt and sampling parameters of one chat. */
export function Parameters({ settings, onChange, onClose }: ParametersProps) {
  const id = useId();
  return (
    <Dialog title="Chat parameters" shape="wide" onClose={onClose}>
      <div className="field">
        <label htmlFor={id}>System prompt</label>
        <span className="hint" id={`${id}-hint`}>
          Instructions that the model receives before the first message.
        </span>
        <textarea
          id={id}
          className="input"
          rows={3}
          dir="auto"
          maxLength={100_000}
          aria-describedby={`${id}-hint`}
          placeholder="Model default"
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
      <p className="muted small">
        Empty fields use the model's defaults. Changes apply from the next message on.
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
  const { label, help, min, max, step } = parameter;
  const id = useId();
  const [text, setText] = useState(value === undefined ? "" : String(value));
  const isInvalid = text !== "" && !isValid(Number(text), parameter);
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="input"
        inputMode="decimal"
        placeholder="Model default"
        aria-describedby={`${id}-hint`}
        aria-invalid={isInvalid}
        value={text}
        onChange={({ currentTarget }) => {
          const typed = currentTarget.value.trim();
          setText(typed);
          onChange(typed !== "" && isValid(Number(typed), parameter) ? Number(typed) : undefined);
        }}
      />
      <span className={isInvalid ? "field-error" : "hint"} id={`${id}-hint`}>
        {isInvalid ? `Enter a ${step === 1 ? "whole " : ""}number from ${min} to ${max}` : help}
      </span>
    </div>
  );
}

function isValid(value: number, { min, max, step }: Parameter): boolean {
  return value >= min && value <= max && (step < 1 || Number.isInteger(value));
}
