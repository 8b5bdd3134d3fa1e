import { useLocation } from "@hearth-and-keep/page-design";
import type { TrustRule } from "@hearth-and-keep/vault-contract";
import { type QueryResult, useQuery } from "../../vault-api/use-query.ts";
import type { RuleCollection } from "./rule-collection.ts";

type TrustRuleList = { readonly items: readonly TrustRule[]; readonly audience: string };

export type RulesState = {
  readonly query: QueryResult<TrustRuleList> & { readonly reload: () => void };
  /** Empty until they are loaded. */
  readonly items: readonly TrustRule[];
  /** The rule that the URL names to be edited. */
  readonly edited: TrustRule | undefined;
  /** Whether the form is shown instead of the list. */
  readonly isForm: boolean;
};

export function useRules({ apiPath }: RuleCollection): RulesState {
  const { query: parameters } = useLocation();
  const query = useQuery<TrustRuleList>(apiPath);
  const items = query.state === "loaded" ? query.body.items : [];
  const edited = items.find(({ id }) => id === parameters.get("edit"));
  return { query, items, edited, isForm: parameters.has("new") || edited !== undefined };
}
