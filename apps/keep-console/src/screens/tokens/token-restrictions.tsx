import type { Vault } from "@hearth-and-keep/vault-contract";
import { CheckboxField, SelectField, TextArea } from "../../design/field.tsx";
import type { DraftErrors, TokenDraft } from "./token-draft.ts";
import { describePattern, parseLines, validatePathPattern } from "./validate-restrictions.ts";

export type TokenRestrictionsProps = {
  readonly draft: TokenDraft;
  readonly vaults: readonly Vault[];
  readonly errors: DraftErrors;
  readonly onChange: (change: Partial<TokenDraft>) => void;
};

/** Vaults, paths and addresses that the token is limited to; all optional. */
export function TokenRestrictions({ draft, vaults, errors, onChange }: TokenRestrictionsProps) {
  return (
    <section className="card padded stack" aria-labelledby="token-restrictions">
      <div>
        <h2 id="token-restrictions">Restrictions</h2>
        <p className="muted">Optional. They limit the damage if the token leaks.</p>
      </div>
      <VaultFields draft={draft} vaults={vaults} errors={errors} onChange={onChange} />
      <div className="token-restriction-fields">
        <div className="stack tight">
          <TextArea
            label="Paths"
            hint="One per line. Leave empty for all paths. * matches one name, ** at the end everything below."
            placeholder="/prod/**"
            rows={3}
            value={draft.paths}
            error={errors.paths}
            onChange={(event) => onChange({ paths: event.currentTarget.value })}
          />
          <PatternDescriptions paths={draft.paths} />
        </div>
        <TextArea
          label="IP addresses"
          hint="Addresses or ranges that may use the token, one per line. Leave empty for any."
          placeholder="10.0.0.0/8"
          rows={3}
          value={draft.addresses}
          error={errors.addresses}
          onChange={(event) => onChange({ addresses: event.currentTarget.value })}
        />
      </div>
    </section>
  );
}

/** Explains the valid patterns while they are typed. */
function PatternDescriptions({ paths }: { readonly paths: string }) {
  const validPatterns = parseLines(paths).filter((line) => validatePathPattern(line) === undefined);
  return (
    <ul className="small muted break-words" aria-label="Matching paths" aria-live="polite">
      {validPatterns.map((line) => (
        <li key={line}>{describePattern(line)}</li>
      ))}
    </ul>
  );
}

function VaultFields({ draft, vaults, errors, onChange }: TokenRestrictionsProps) {
  const selected = draft.vaults;
  return (
    <div className="stack tight">
      <SelectField
        label="Vaults"
        value={selected === "all" ? "all" : "some"}
        error={errors.vaults}
        options={[
          { value: "all", label: "All current and future vaults" },
          { value: "some", label: "Selected vaults" },
        ]}
        onChange={(value) => onChange({ vaults: value === "all" ? "all" : [] })}
      />
      {selected !== "all" && (
        <fieldset className="vault-fields">
          <legend className="visually-hidden">Selected vaults</legend>
          {vaults.map(({ id, name }) => (
            <CheckboxField
              key={id}
              label={<span className="break-words">{name}</span>}
              isChecked={selected.includes(id)}
              onChange={(isChecked) =>
                onChange({ vaults: isChecked ? [...selected, id] : selected.filter((other) => other !== id) })
              }
            />
          ))}
        </fieldset>
      )}
    </div>
  );
}
