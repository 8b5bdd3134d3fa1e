import { AddIcon, CloseIcon } from "@hearth-and-keep/page-design";
import { TextArea, TextField } from "../../design/field.tsx";
import { providerTemplates } from "./providers.ts";
import type { ConditionDraft, RuleDraft } from "./rule-draft.ts";

export type ConditionFieldsProps = {
  readonly draft: RuleDraft;
  readonly error: string | undefined;
  readonly onChange: (conditions: readonly ConditionDraft[]) => void;
};

const maxConditions = 20;

/** Claims of the platform's token and the values that they may have. */
export function ConditionFields({ draft, error, onChange }: ConditionFieldsProps) {
  const { conditions, provider } = draft;
  const { hint, command } = providerTemplates[provider];
  return (
    <section className="card padded stack" aria-labelledby="rule-conditions">
      <div>
        <h2 id="rule-conditions">Conditions</h2>
        <p className="muted">All of them must be met, each by one of its values. One value per line.</p>
        <p className="muted small break-words">
          {hint} {command !== undefined && <code>{command}</code>}
        </p>
        {error !== undefined && (
          <p className="form-error" role="alert">
            {error}
          </p>
        )}
      </div>
      {conditions.map((condition, index) => (
        <Condition
          // Conditions have no id of their own, and are only appended or removed.
          key={index}
          number={index + 1}
          condition={condition}
          onChange={(changed) => onChange(conditions.with(index, changed))}
          onRemove={() => onChange(conditions.toSpliced(index, 1))}
        />
      ))}
      {conditions.length < maxConditions && (
        <div>
          <button
            type="button"
            className="button"
            onClick={() => onChange([...conditions, { claim: "", values: "" }])}
          >
            <AddIcon />
            Add condition
          </button>
        </div>
      )}
    </section>
  );
}

type ConditionProps = {
  readonly number: number;
  readonly condition: ConditionDraft;
  readonly onChange: (condition: ConditionDraft) => void;
  readonly onRemove: () => void;
};

function Condition({ number, condition, onChange, onRemove }: ConditionProps) {
  return (
    <div className="condition">
      <TextField
        label={`Claim ${number}`}
        autoComplete="off"
        spellCheck={false}
        maxLength={128}
        value={condition.claim}
        onChange={(event) => onChange({ ...condition, claim: event.currentTarget.value })}
      />
      <TextArea
        label={`Values ${number}`}
        rows={Math.min(6, condition.values.split("\n").length)}
        maxLength={12_000}
        value={condition.values}
        onChange={(event) => onChange({ ...condition, values: event.currentTarget.value })}
      />
      <button
        type="button"
        className="button ghost square"
        aria-label={`Remove condition ${number}`}
        onClick={onRemove}
      >
        <CloseIcon />
      </button>
    </div>
  );
}
