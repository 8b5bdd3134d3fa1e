import type { TrustRule, Vault } from "@hearth-and-keep/vault-contract";
import { ActionMenu } from "../../design/menu.tsx";
import { Timestamp } from "../../design/timestamp.tsx";
import { minimalScopes, scopeTitle } from "../tokens/scopes.ts";
import { providerTemplates } from "./providers.ts";

export type RuleListProps = {
  readonly items: readonly TrustRule[];
  readonly vaults: readonly Vault[];
  readonly onEdit: (rule: TrustRule) => void;
  readonly onAttempts: (rule: TrustRule) => void;
  readonly onDelete: (rule: TrustRule) => void;
};

export function RuleList({ items, vaults, onEdit, onAttempts, onDelete }: RuleListProps) {
  return (
    <ul className="card records" aria-label="Trust rules">
      {items.map((rule) => (
        <li key={rule.id} className="record rule">
          <div className="rule-name">
            <strong className="break-words">{rule.name}</strong>
            <span className="muted small">{providerTemplates[rule.provider].label}</span>
            <span className="muted small">
              Created <Timestamp at={rule.created_at} />
            </span>
          </div>
          <RuleConditions rule={rule} />
          <RulePermissions {...{ rule, vaults }} />
          <ActionMenu
            label={`More actions for ${rule.name}`}
            actions={[
              { label: "Edit", onSelect: () => onEdit(rule) },
              { label: "Recent tokens…", onSelect: () => onAttempts(rule) },
              { label: "Delete…", onSelect: () => onDelete(rule), isDangerous: true },
            ]}
          />
        </li>
      ))}
    </ul>
  );
}

function RuleConditions({ rule: { conditions } }: { readonly rule: TrustRule }) {
  return (
    <ul className="rule-conditions small" aria-label="Conditions">
      {conditions.map(({ claim, values }) => (
        <li key={claim} className="break-words">
          <code>{claim}</code> {values.length === 1 ? "is" : "is one of"} <code>{values.join(", ")}</code>
        </li>
      ))}
    </ul>
  );
}

function RulePermissions({ rule, vaults }: Pick<RuleListProps, "vaults"> & { readonly rule: TrustRule }) {
  const nameOf = (id: string): string => vaults.find((vault) => vault.id === id)?.name ?? "Deleted vault";
  return (
    <div className="rule-permissions small">
      <span>{minimalScopes(new Set(rule.scopes)).map(scopeTitle).join(", ")}</span>
      <span className="muted break-words">
        {rule.vault_ids === null ? "All vaults" : rule.vault_ids.map(nameOf).join(", ")}
        {rule.paths !== null && (
          <>
            : <code>{rule.paths.join(", ")}</code>
          </>
        )}
      </span>
      <span className="muted">For {formatMinutes(rule.lifetime_seconds)}</span>
    </div>
  );
}

function formatMinutes(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  return minutes === 1 ? "1 minute" : `${minutes} minutes`;
}
