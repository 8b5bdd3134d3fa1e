import { Link } from "@hearth-and-keep/page-design";
import type { Organisation } from "@hearth-and-keep/vault-contract";
import { OrganisationIcon } from "../../design/icons.tsx";
import { organisationPath } from "../../vault-api/member-names.ts";
import { useQuery } from "../../vault-api/use-query.ts";
import { ChangesLink } from "../approvals/changes-link.tsx";
import { navigateTo, type SecretsLocation } from "./secrets-location.ts";
import { useAccess } from "./vault-access.ts";

/** Below the name of a shared vault: whose it is, and the way to who has access and to changes. Nothing for one's own vaults. */
export function OrganisationLine({ location }: { readonly location: SecretsLocation }) {
  const { organisationId, allows } = useAccess();
  const organisation = useQuery<Organisation>(
    organisationId === undefined ? undefined : organisationPath(organisationId),
  );
  if (organisationId === undefined) return null;
  const name = organisation.state === "loaded" ? organisation.body.name : "Organisation";
  return (
    <div className="organisation-line small">
      <OrganisationIcon />
      <Link className="truncate" to={`/organisations/${organisationId}/vaults`}>
        {name}
      </Link>
      {allows("grants:read") && (
        <button
          type="button"
          className="button small"
          onClick={() => navigateTo(location, { isSharing: true })}
        >
          Access
        </button>
      )}
      {allows("secrets:list") && location.vaultId !== undefined && (
        <ChangesLink vaultId={location.vaultId} isCurrent={location.view === "changes"} />
      )}
    </div>
  );
}
