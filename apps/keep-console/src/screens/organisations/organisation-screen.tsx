import { ErrorNotice, Link, Loading } from "@hearth-and-keep/page-design";
import type { Organisation, Session } from "@hearth-and-keep/vault-contract";
import { TabLinks } from "../../design/tab-links.tsx";
import { organisationPath } from "../../vault-api/member-names.ts";
import { useQuery } from "../../vault-api/use-query.ts";
import { AuditTab } from "./audit-tab.tsx";
import { MembersTab } from "./members-tab.tsx";
import { type OrganisationTab, organisationHref, useOrganisationLocation } from "./organisation-location.ts";
import { roleLabel } from "./organisation-roles.ts";
import type { OrganisationTabProps } from "./organisation-tab.ts";
import { SettingsTab } from "./settings-tab.tsx";
import { TeamsTab } from "./teams-tab.tsx";
import { TokensTab } from "./tokens-tab.tsx";
import { TrustRulesTab } from "./trust-rules-tab.tsx";
import { VaultsTab } from "./vaults-tab.tsx";

export function OrganisationScreen({ session }: { readonly session: Session }) {
  const { organisationId, tab } = useOrganisationLocation();
  const organisation = useQuery<Organisation>(organisationPath(organisationId));
  return (
    <>
      <nav className="breadcrumbs" aria-label="Breadcrumbs">
        <Link to="/organisations">Organisations</Link>
      </nav>
      {organisation.state === "loading" && <Loading lines={6} label="Loading organisation" />}
      {organisation.state === "failed" && (
        <div className="stack">
          <h1>Organisation</h1>
          <ErrorNotice
            text={
              organisation.error.code === "not_found"
                ? "Organisation not found. It may be deleted, or you may not be a member of it."
                : organisation.error.message
            }
            onRetry={organisation.reload}
          />
        </div>
      )}
      {organisation.state === "loaded" && (
        <OrganisationView key={organisation.body.id} {...{ session, tab }} organisation={organisation.body} />
      )}
    </>
  );
}

type OrganisationViewProps = OrganisationTabProps & { readonly tab: OrganisationTab };

function OrganisationView({ session, organisation, tab }: OrganisationViewProps) {
  const props = { session, organisation };
  return (
    <>
      <div className="row organisation-heading">
        <h1 className="break-words">{organisation.name}</h1>
        <span className="badge">{roleLabel(organisation.role)}</span>
      </div>
      <TabLinks label={`Sections of ${organisation.name}`} links={tabLinks(organisation, tab)} />
      {tab === "members" && <MembersTab {...props} />}
      {tab === "teams" && <TeamsTab {...props} />}
      {tab === "vaults" && <VaultsTab {...props} />}
      {tab === "tokens" && <TokensTab {...props} />}
      {tab === "trust-rules" && <TrustRulesTab {...props} />}
      {tab === "audit" && <AuditTab {...props} />}
      {tab === "settings" && <SettingsTab {...props} />}
    </>
  );
}

const tabLabels: readonly (readonly [OrganisationTab, string])[] = [
  ["members", "Members"],
  ["teams", "Teams"],
  ["vaults", "Vaults"],
  ["tokens", "Tokens"],
  ["trust-rules", "Trust rules"],
  ["audit", "Audit"],
  ["settings", "Settings"],
];

/** The server refuses what they would show. */
const hiddenTabs: Readonly<Record<Organisation["role"], readonly OrganisationTab[]>> = {
  owner: [],
  member: ["trust-rules", "audit", "settings"],
  auditor: ["tokens", "trust-rules", "settings"],
};

function tabLinks({ id, role }: Organisation, current: OrganisationTab) {
  return tabLabels
    .filter(([tab]) => !hiddenTabs[role].includes(tab))
    .map(([tab, label]) => ({ to: organisationHref(id, tab), label, isCurrent: tab === current }));
}
