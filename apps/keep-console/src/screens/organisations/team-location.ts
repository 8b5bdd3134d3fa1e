import { organisationHref } from "./organisation-location.ts";

/** The list of teams, with the panel of one if its id is given. */
export function teamHref(organisationId: string, teamId?: string): string {
  return `${organisationHref(organisationId, "teams")}${teamId === undefined ? "" : `?team=${teamId}`}`;
}
