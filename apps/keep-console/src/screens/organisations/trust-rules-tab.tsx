import { Notice } from "@hearth-and-keep/page-design";
import type { Vault } from "@hearth-and-keep/vault-contract";
import { useMemo } from "react";
import { organisationPath } from "../../vault-api/member-names.ts";
import { useQuery } from "../../vault-api/use-query.ts";
import type { RuleCollection } from "../trust-rules/rule-collection.ts";
import { NewRuleLink, RulesView } from "../trust-rules/rules-view.tsx";
import { useRules } from "../trust-rules/use-rules.ts";
import { organisationHref } from "./organisation-location.ts";
import type { OrganisationTabProps } from "./organisation-tab.ts";
import { SectionBar } from "./section-bar.tsx";

/** Owners manage the rules by which CI jobs and pods get tokens of the organisation. */
export function TrustRulesTab(props: OrganisationTabProps) {
  if (props.organisation.role !== "owner")
    return <Notice>Only owners manage the trust rules of this organisation.</Notice>;
  return <OrganisationRules {...props} />;
}

function OrganisationRules({ session, organisation: { id } }: OrganisationTabProps) {
  const collection = useMemo(() => rulesOf(id), [id]);
  const rules = useRules(collection);
  const vaults = useQuery<readonly Vault[]>(`${organisationPath(id)}/vaults`);
  return (
    <div className="stack">
      <SectionBar
        text="CI jobs and pods exchange a token of their platform for a short-lived one of the organisation. They store no secret."
        action={!rules.isForm && rules.items.length > 0 && <NewRuleLink collection={collection} />}
      />
      <RulesView {...{ session, collection, rules }} vaults={vaults.state === "loaded" ? vaults.body : []} />
    </div>
  );
}

function rulesOf(organisationId: string): RuleCollection {
  return {
    apiPath: `${organisationPath(organisationId)}/trust-rules`,
    href: organisationHref(organisationId, "trust-rules"),
    allowsAllVaults: false,
    limits: "A rule can grant what you have and may share: choose vaults that you manage.",
  };
}
