import { CheckboxField } from "../../design/field.tsx";
import { impliedBy, type Scope, type ScopeDescription, type ScopeGroup, scopeGroups } from "./scopes.ts";

export type ScopeFieldsProps = {
  readonly chosen: readonly Scope[];
  readonly error: string | undefined;
  readonly onChange: (chosen: readonly Scope[]) => void;
};

export function ScopeFields({ chosen, error, onChange }: ScopeFieldsProps) {
  return (
    <section className="stack" aria-labelledby="token-scopes">
      <div>
        <h2 id="token-scopes">Permissions</h2>
        <p className="muted">Start with the minimum. Most programs only read secrets.</p>
        {error !== undefined && (
          <p className="form-error" role="alert">
            {error}
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

type GroupProps = Omit<ScopeFieldsProps, "error"> & { readonly group: ScopeGroup };

function Group({ group, chosen, onChange }: GroupProps) {
  const chosenSet = new Set(chosen);
  return (
    <fieldset className="card scope-group">
      <legend>{group.title}</legend>
      <p className="muted small">{group.description}</p>
      {group.scopes.map((entry) => {
        const isIncluded = impliedBy(entry.scope, chosenSet) !== undefined;
        return (
          <CheckboxField
            key={entry.scope}
            label={<ScopeLabel entry={entry} isIncluded={isIncluded} />}
            hint={<ScopeHint entry={entry} />}
            isChecked={chosenSet.has(entry.scope) || isIncluded}
            isDisabled={isIncluded}
            onChange={(isChecked) =>
              onChange(isChecked ? [...chosen, entry.scope] : chosen.filter((scope) => scope !== entry.scope))
            }
          />
        );
      })}
    </fieldset>
  );
}

function ScopeLabel({
  entry,
  isIncluded,
}: {
  readonly entry: ScopeDescription;
  readonly isIncluded: boolean;
}) {
  return (
    <span className="scope-label">
      {entry.title}
      {isIncluded && <span className="badge success">Included</span>}
      {entry.scope === "secrets:read" && <span className="badge">Recommended</span>}
    </span>
  );
}

/** The description, and the scope's id as the API and its errors use it. */
function ScopeHint({ entry }: { readonly entry: ScopeDescription }) {
  return (
    <>
      {entry.description} <code>{entry.scope}</code>
    </>
  );
}
