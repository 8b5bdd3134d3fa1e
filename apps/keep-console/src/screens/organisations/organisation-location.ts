import { type PageLocation, useLocation } from "@hearth-and-keep/page-design";

const organisationTabs = [
  "members",
  "teams",
  "vaults",
  "tokens",
  "trust-rules",
  "audit",
  "settings",
] as const;

export type OrganisationTab = (typeof organisationTabs)[number];

export type OrganisationLocation = { readonly organisationId: string; readonly tab: OrganisationTab };

/** Which organisation and which of its tabs the URL names. */
export function useOrganisationLocation(): OrganisationLocation {
  return parseLocation(useLocation());
}

function parseLocation({ path }: PageLocation): OrganisationLocation {
  const [, , organisationId = "", name = ""] = path.split("/");
  return { organisationId, tab: organisationTabs.find((tab) => tab === name) ?? "members" };
}

export function organisationHref(organisationId: string, tab: OrganisationTab = "members"): string {
  return `/organisations/${organisationId}${tab === "members" ? "" : `/${tab}`}`;
}
