import { Notice } from "@hearth-and-keep/page-design";
import type { Vault } from "@hearth-and-keep/vault-contract";
import { organisationPath } from "../../vault-api/member-names.ts";
import { useQuery } from "../../vault-api/use-query.ts";
import { AuditEvents } from "../audit/audit-events.tsx";
import { organisationLog } from "../audit/audit-log.ts";
import { findFilter } from "../audit/event-filters.ts";
import { useActorNames, useEntityNames } from "../audit/use-entity-names.ts";
import type { OrganisationTabProps } from "./organisation-tab.ts";
import { SectionBar } from "./section-bar.tsx";

/** What happened to members, teams, invitations and tokens. Each vault has a log of its own. */
export function AuditTab({ session, organisation }: OrganisationTabProps) {
  const vaults = useQuery<readonly Vault[]>(`${organisationPath(organisation.id)}/vaults`);
  const names = useEntityNames({
    session,
    vaults: vaults.state === "loaded" ? vaults.body : noVaults,
    organisationId: organisation.id,
    actors: useActorNames(organisation.id),
  });
  if (organisation.role === "member")
    return <Notice>Owners and auditors read the audit log of this organisation.</Notice>;
  const logId = organisationLog(organisation.id);
  return (
    <div className="stack">
      <SectionBar text="Changes to members, teams, invitations and tokens. Each vault has a log of its own." />
      <AuditEvents logId={logId} filter={findFilter(logId, null)} names={names} />
    </div>
  );
}

const noVaults: readonly Vault[] = [];
