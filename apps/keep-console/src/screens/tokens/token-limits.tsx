import type { Vault } from "@hearth-and-keep/vault-contract";
import { CheckField, SelectField, TextArea } from "../../design/field.tsx";
import { linesOf, patternMistake, tellReach } from "./limits.ts";
import type { DraftMistakes, TokenDraft } from "./token-draft.ts";

export type TokenLimitsProps = {
  readonly draft: TokenDraft;
  readonly vaults: readonly Vault[];
  readonly mistakes: DraftMistakes;
  readonly onChange: (change: Partial<TokenDraft>) => void;
};

/** Where it may do it: all of it optional, and all of it worth a thought. */
export function TokenLimits({ draft, vaults, mistakes, onChange }: TokenLimitsProps) {
  return (
    <section className="card padded stack" aria-labelledby="token-limits">
      <div>
        <h2 id="token-limits">Where it may do it</h2>
        <p className="quiet">Optional. A token that leaks does less harm when it reaches less.</p>
      </div>
      <VaultChoices draft={draft} vaults={vaults} mistakes={mistakes} onChange={onChange} />
      <div className="token-limit-fields">
        <div className="stack tight">
          <TextArea
            label="Paths"
            hint="One in a line; none means every path. * is any one name, ** at the end everything below."
            placeholder="/prod/**"
            rows={3}
            value={draft.paths}
            mistake={mistakes.paths}
            onChange={(event) => onChange({ paths: event.currentTarget.value })}
          />
          <Reach paths={draft.paths} />
        </div>
        <TextArea
          label="Addresses"
          hint="Where it may be used from, one in a line; none means from anywhere."
          placeholder="10.0.0.0/8"
          rows={3}
          value={draft.addresses}
          mistake={mistakes.addresses}
          onChange={(event) => onChange({ addresses: event.currentTarget.value })}
        />
      </div>
    </section>
  );
}

/** What the patterns mean, while they are typed. */
function Reach({ paths }: { readonly paths: string }) {
  const fine = linesOf(paths).filter((line) => patternMistake(line) === undefined);
  return (
    <ul className="small quiet breaks" aria-label="What these paths reach" aria-live="polite">
      {fine.map((line) => (
        <li key={line}>{tellReach(line)}</li>
      ))}
    </ul>
  );
}

function VaultChoices({ draft, vaults, mistakes, onChange }: TokenLimitsProps) {
  const chosen = draft.vaults;
  return (
    <div className="stack tight">
      <SelectField
        label="Vaults"
        value={chosen === "all" ? "all" : "some"}
        mistake={mistakes.vaults}
        choices={[
          { value: "all", label: "All vaults, also those to come" },
          { value: "some", label: "Only these" },
        ]}
        onChoose={(value) => onChange({ vaults: value === "all" ? "all" : [] })}
      />
      {chosen !== "all" && (
        <fieldset className="vault-choices">
          <legend className="hidden-to-sight">Only these vaults</legend>
          {vaults.map(({ id, name }) => (
            <CheckField
              key={id}
              label={<span className="breaks">{name}</span>}
              isChecked={chosen.includes(id)}
              onChange={(isChecked) =>
                onChange({ vaults: isChecked ? [...chosen, id] : chosen.filter((other) => other !== id) })
              }
            />
          ))}
        </fieldset>
      )}
    </div>
  );
}
