import type { Team } from "@hearth-and-keep/vault-contract";
import { organisationPath } from "../../vault-api/member-names.ts";
import { type QueryResult, useQuery } from "../../vault-api/use-query.ts";

type TeamList = { readonly items: readonly Team[] };

export function teamsPath(organisationId: string): string {
  return `${organisationPath(organisationId)}/teams`;
}

export function useTeams(organisationId: string): QueryResult<TeamList> & { readonly reload: () => void } {
  return useQuery<TeamList>(teamsPath(organisationId));
}
