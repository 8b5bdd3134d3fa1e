import type { Vault } from "@hearth-and-keep/vault-contract";
import { SelectField, TextArea } from "../../design/field.tsx";
import { PathPatternsField, validatePathPatterns } from "../tokens/path-patterns-field.tsx";
import { VaultFields } from "../tokens/vault-fields.tsx";
import type { RuleCollection } from "./rule-collection.ts";
import type { RuleDraft, RuleErrors } from "./rule-draft.ts";

export type RuleRestrictionsProps = {
  readonly collection: RuleCollection;
  readonly draft: RuleDraft;
  readonly vaults: readonly Vault[];
  readonly errors: RuleErrors;
  readonly onChange: (change: Partial<RuleDraft>) => void;
};

const lifetimes = [
  { value: "300", label: "5 minutes" },
  { value: "900", label: "15 minutes (recommended)" },
  { value: "1800", label: "30 minutes" },
  { value: "3600", label: "1 hour" },
] as const;

/** Vaults, paths and lifetime of the tokens, and the issuer's keys where Keep cannot reach it. */
export function RuleRestrictions(props: RuleRestrictionsProps) {
  const { collection, draft, vaults, errors, onChange } = props;
  const { lifetimeSeconds } = draft;
  const isListed = lifetimes.some(({ value }) => value === lifetimeSeconds);
  const other = { value: lifetimeSeconds, label: `${lifetimeSeconds} seconds` };
  return (
    <section className="card padded stack" aria-labelledby="rule-restrictions">
      <div>
        <h2 id="rule-restrictions">Restrictions</h2>
        {collection.limits !== undefined && <p className="muted">{collection.limits}</p>}
      </div>
      <VaultFields
        selected={draft.vaults}
        vaults={vaults}
        // A rule that was created for all vaults can stay so.
        allowsAll={collection.allowsAllVaults || draft.vaults === "all"}
        error={errors.vaults}
        onChange={(selected) => onChange({ vaults: selected })}
      />
      <div className="token-restriction-fields">
        <PathPatternsField
          value={draft.paths}
          error={errors.paths ?? validatePathPatterns(draft.paths)}
          onChange={(paths) => onChange({ paths })}
        />
        <SelectField
          label="Tokens are valid for"
          hint="A job can request another one."
          value={lifetimeSeconds}
          options={isListed ? lifetimes : [...lifetimes, other]}
          onChange={(value) => onChange({ lifetimeSeconds: value })}
        />
      </div>
      {(draft.provider === "kubernetes" || draft.provider === "generic" || draft.keys !== "") && (
        <TextArea
          label="Keys of the issuer (optional)"
          hint="A JSON Web Key Set, if Keep cannot reach the issuer."
          rows={3}
          maxLength={40_000}
          value={draft.keys}
          error={errors.keys}
          onChange={(event) => onChange({ keys: event.currentTarget.value })}
        />
      )}
    </section>
  );
}
