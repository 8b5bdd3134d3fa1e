import { AddIcon, Link, Notice, useLocation } from "@hearth-and-keep/page-design";
import type { ApiToken, Organisation, Session, Vault } from "@hearth-and-keep/vault-contract";
import { useMemo, useRef } from "react";
import { organisationPath, useMemberNames } from "../../vault-api/member-names.ts";
import { useQuery } from "../../vault-api/use-query.ts";
import type { TokenCollection } from "../tokens/token-collection.ts";
import { TokensView } from "../tokens/tokens-view.tsx";
import { organisationHref } from "./organisation-location.ts";
import type { OrganisationTabProps } from "./organisation-tab.ts";

/** The caller's own tokens and those of the organisation itself; owners see everybody's. */
export function TokensTab({ session, organisation }: OrganisationTabProps) {
  const { query } = useLocation();
  const vaults = useQuery<readonly Vault[]>(`${organisationPath(organisation.id)}/vaults`);
  const collection = useTokenCollection(session, organisation);
  const text = useRef<HTMLParagraphElement>(null);
  const isCreating = query.has("new");
  if (organisation.role === "auditor")
    return <Notice>Auditors have no tokens in an organisation. Owners and members do.</Notice>;
  return (
    <div className="stack">
      <div className="section-bar">
        <p className="muted" ref={text} tabIndex={-1}>
          {isCreating
            ? "An access token for one program that uses the organisation's vaults."
            : "Access tokens for programs that use the organisation's vaults."}
        </p>
        {!isCreating && (
          <Link className="button primary" to={`${collection.href}?new=token`}>
            <AddIcon />
            New token
          </Link>
        )}
      </div>
      <TokensView
        {...{ session, collection, isCreating }}
        vaults={vaults.state === "loaded" ? vaults.body : []}
        onValueClosed={() => text.current?.focus()}
      />
    </div>
  );
}

const forPerson = {
  value: "me",
  label: "Me",
  hint: "Can do at most what you can do, and ends when you leave the organisation.",
} as const;
const forOrganisation = {
  value: "organisation",
  label: "The organisation",
  hint: "Stays when you leave. For servers and jobs that others depend on, in vaults that you manage.",
} as const;

function useTokenCollection(session: Session, { id }: Organisation): TokenCollection {
  const names = useMemberNames(id);
  return useMemo(
    () => ({
      apiPath: `${organisationPath(id)}/tokens`,
      href: organisationHref(id, "tokens"),
      actions: ["rename", "rotate", "revoke"],
      holders: [forPerson, forOrganisation],
      describeOwner: ({ owner_id: owner }: ApiToken) => {
        if (owner === undefined) return "For the organisation";
        return owner === session.account.id ? "For you" : `For ${names.get(owner) ?? "a member"}`;
      },
    }),
    [id, names, session.account.id],
  );
}
