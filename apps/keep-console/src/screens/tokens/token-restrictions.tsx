import type { Vault } from "@hearth-and-keep/vault-contract";
import { TextArea } from "../../design/field.tsx";
import { PathPatternsField } from "./path-patterns-field.tsx";
import type { DraftErrors, TokenDraft } from "./token-draft.ts";
import { VaultFields } from "./vault-fields.tsx";

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
      <VaultFields
        selected={draft.vaults}
        vaults={vaults}
        allowsAll={draft.holder === "me"}
        error={errors.vaults}
        onChange={(selected) => onChange({ vaults: selected })}
      />
      <div className="token-restriction-fields">
        <PathPatternsField
          value={draft.paths}
          error={errors.paths}
          onChange={(paths) => onChange({ paths })}
        />
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
