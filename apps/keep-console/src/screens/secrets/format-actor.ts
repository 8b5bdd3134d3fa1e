import type { Session } from "@hearth-and-keep/vault-contract";
import { useCallback } from "react";
import { useMemberNames } from "../../vault-api/member-names.ts";
import { useTokenNames } from "../../vault-api/use-token-names.ts";

/**
 * Formats `session:…` as "You" (an account belongs to one person), `person:…` of an organisation's vault as the member's
 * name, and `token:…` as the token's name.
 */
export type FormatActor = (actor: string) => string;

export function useFormatActor(session: Session, organisationId: string | undefined): FormatActor {
  const tokenNames = useTokenNames();
  const memberNames = useMemberNames(organisationId);
  const self = session.account.id;
  return useCallback(
    (actor) => {
      if (actor.startsWith("session:")) return "You";
      if (actor === `person:${self}`) return "You";
      if (actor.startsWith("person:")) return memberNames.get(actor.slice("person:".length)) ?? "A member";
      if (actor.startsWith("token:")) return tokenNames.get(actor.slice("token:".length)) ?? "A token";
      if (actor.startsWith("trust-rule:")) return "A trust rule";
      return "Keep";
    },
    [tokenNames, memberNames, self],
  );
}

/** For the middle of a sentence. */
export function inSentence(actor: string): string {
  return ["You", "A member", "A token", "A trust rule"].includes(actor)
    ? actor.replace(/^./u, (first) => first.toLowerCase())
    : actor;
}
