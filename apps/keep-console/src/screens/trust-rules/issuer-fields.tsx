import { SelectField, TextField } from "../../design/field.tsx";
import { providers, providerTemplates } from "./providers.ts";
import { changeProvider, type RuleDraft, type RuleErrors } from "./rule-draft.ts";

export type IssuerFieldsProps = {
  readonly draft: RuleDraft;
  readonly errors: RuleErrors;
  readonly onChange: (draft: RuleDraft) => void;
};

/** Which system issues the workload's tokens. */
export function IssuerFields({ draft, errors, onChange }: IssuerFieldsProps) {
  return (
    <section className="card padded stack" aria-labelledby="rule-issuer">
      <h2 id="rule-issuer">Platform</h2>
      <div className="token-restriction-fields">
        <SelectField
          label="Provider"
          hint="Decides which conditions a rule must have."
          value={draft.provider}
          options={providers.map((value) => ({ value, label: providerTemplates[value].label }))}
          onChange={(value) => {
            const provider = providers.find((known) => known === value);
            if (provider !== undefined) onChange(changeProvider(draft, provider));
          }}
        />
        <TextField
          label="Issuer"
          hint="Equal to the claim iss in every character."
          type="url"
          autoComplete="off"
          spellCheck={false}
          maxLength={512}
          value={draft.issuer}
          error={errors.issuer}
          onChange={(event) => onChange({ ...draft, issuer: event.currentTarget.value })}
        />
      </div>
    </section>
  );
}
