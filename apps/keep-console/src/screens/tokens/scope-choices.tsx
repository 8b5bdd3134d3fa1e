import { CheckField } from "../../design/field.tsx";
import { broughtBy, type Scope, type ScopeGroup, type ScopeWords, scopeGroups } from "./scopes.ts";

export type ScopeChoicesProps = {
  readonly chosen: readonly Scope[];
  readonly mistake: string | undefined;
  readonly onChange: (chosen: readonly Scope[]) => void;
};

export function ScopeChoices({ chosen, mistake, onChange }: ScopeChoicesProps) {
  return (
    <section className="stack" aria-labelledby="token-scopes">
      <div>
        <h2 id="token-scopes">What it may do</h2>
        <p className="quiet">Start small: most programs only read secrets.</p>
        {mistake !== undefined && (
          <p className="field-mistake" role="alert">
            {mistake}
          </p>
        )}
      </div>
      <div className="scope-groups">
        {scopeGroups.map((group) => (
          <Group key={group.title} group={group} chosen={chosen} onChange={onChange} />
        ))}
      </div>
    </section>
  );
}

type GroupProps = Omit<ScopeChoicesProps, "mistake"> & { readonly group: ScopeGroup };

function Group({ group, chosen, onChange }: GroupProps) {
  const set = new Set(chosen);
  return (
    <fieldset className="card scope-group">
      <legend>{group.title}</legend>
      <p className="quiet small">{group.sentence}</p>
      {group.scopes.map((words) => {
        const source = broughtBy(words.scope, set);
        return (
          <CheckField
            key={words.scope}
            label={<ScopeLabel words={words} isIncluded={source !== undefined} />}
            hint={words.sentence}
            isChecked={set.has(words.scope) || source !== undefined}
            isDisabled={source !== undefined}
            onChange={(isChecked) =>
              onChange(isChecked ? [...chosen, words.scope] : chosen.filter((scope) => scope !== words.scope))
            }
          />
        );
      })}
    </fieldset>
  );
}

function ScopeLabel({ words, isIncluded }: { readonly words: ScopeWords; readonly isIncluded: boolean }) {
  return (
    <span className="scope-label">
      {words.title}
      {isIncluded && <span className="badge good">included</span>}
      {words.scope === "secrets:read" && <span className="badge">suggested</span>}
    </span>
  );
}
