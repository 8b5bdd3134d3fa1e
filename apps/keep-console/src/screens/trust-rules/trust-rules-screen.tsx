/**
 * @module
 * Secrets → Trust rules: which workloads exchange a token of their platform for one of Keep. Rules are created, edited,
 * compared with the last tokens that were presented, and deleted. No token is ever shown. Those of an organisation are
 * shown with the same components.
 * Shown by `screens.tsx`; imported by the screens of organisations.
 */
import type { Session, Vault } from "@hearth-and-keep/vault-contract";
import { useQuery } from "../../vault-api/use-query.ts";
import { accountRules } from "./rule-collection.ts";
import { NewRuleLink, RulesView } from "./rules-view.tsx";
import { useRules } from "./use-rules.ts";

export default function TrustRulesScreen({ session }: { readonly session: Session }) {
  const rules = useRules(accountRules);
  const vaults = useQuery<readonly Vault[]>("/api/secrets/vaults?limit=200");
  const { edited, isForm, items } = rules;
  return (
    <>
      <div className="screen-header">
        <div>
          <h1>{edited !== undefined ? "Edit trust rule" : isForm ? "New trust rule" : "Trust rules"}</h1>
          <p className="muted">
            CI jobs and pods exchange a token of their platform for a short-lived one of Keep. They store no
            secret.
          </p>
        </div>
        {!isForm && items.length > 0 && <NewRuleLink collection={accountRules} />}
      </div>
      <RulesView
        {...{ session, rules }}
        collection={accountRules}
        vaults={vaults.state === "loaded" ? vaults.body : []}
      />
    </>
  );
}
