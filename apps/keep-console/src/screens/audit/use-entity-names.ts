import type { Session, Team, Vault } from "@hearth-and-keep/vault-contract";
import { useMemo } from "react";
import { organisationPath, useMemberNames } from "../../vault-api/member-names.ts";
import { useQuery } from "../../vault-api/use-query.ts";
import { useTokenNames } from "../../vault-api/use-token-names.ts";
import type { EntityNames } from "./describe-event.ts";

export type EntityNameOptions = {
  readonly session: Session;
  readonly vaults: readonly Vault[];
  /** To which the log belongs; undefined for a log of the person's own account. */
  readonly organisationId: string | undefined;
  readonly actors: ActorNames;
};

/** Names by id of who acts, besides the server. */
export type ActorNames = {
  readonly tokens: ReadonlyMap<string, string>;
  readonly members: ReadonlyMap<string, string>;
};

/** Of the person's tokens, and of the members of an organisation. */
export function useActorNames(organisationId: string | undefined): ActorNames {
  return { tokens: useTokenNames(), members: useMemberNames(organisationId) };
}

type TeamList = { readonly items: readonly Team[] };

/** Names of whom and what the records of a log mention. */
export function useEntityNames(options: EntityNameOptions): EntityNames {
  const { session, vaults, organisationId, actors } = options;
  const { tokens, members } = actors;
  const teams = useQuery<TeamList>(
    organisationId === undefined ? undefined : `${organisationPath(organisationId)}/teams`,
  );
  const teamList = teams.state === "loaded" ? teams.body.items : undefined;
  return useMemo(() => {
    const vaultNames = new Map(vaults.map(({ id, name }) => [id, name]));
    const teamNames = new Map((teamList ?? []).map(({ id, name }) => [id, name]));
    const providers = new Map<string, string>(session.providers.map(({ kind, name }) => [kind, name]));
    return {
      // An account belongs to one person, so every session is theirs.
      actor: (actor) => {
        if (actor.startsWith("session:") || actor === `person:${session.account.id}`) return "You";
        if (actor === "server") return "The server";
        if (actor.startsWith("person:")) return members.get(actor.slice("person:".length)) ?? "A member";
        const name = tokens.get(actor.slice("token:".length));
        return name === undefined ? "A token" : `The token “${name}”`;
      },
      person: (id) => members.get(id),
      team: (id) => teamNames.get(id),
      token: (id) => tokens.get(id),
      vault: (id) => vaultNames.get(id),
      provider: (kind) => providers.get(kind) ?? kind,
    };
  }, [session, vaults, tokens, members, teamList]);
}
