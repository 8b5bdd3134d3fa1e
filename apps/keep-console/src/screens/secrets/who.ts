import type { ApiToken } from "@hearth-and-keep/vault-contract";
import { useCallback, useMemo } from "react";
import { useAnswer } from "../../vault-api/use-answer.ts";

/** Who did something, in words: `session:…` is the one person an account has, `token:…` a program of theirs. */
export type SayWho = (actor: string) => string;

type TokenPage = { readonly items: readonly ApiToken[] };

export function useWho(): SayWho {
  const live = useAnswer<TokenPage>("/api/secrets/tokens?limit=200");
  const ended = useAnswer<TokenPage>("/api/secrets/tokens?limit=200&state=revoked");
  const liveItems = live.state === "there" ? live.body.items : undefined;
  const endedItems = ended.state === "there" ? ended.body.items : undefined;
  const names = useMemo(
    () => new Map([...(endedItems ?? []), ...(liveItems ?? [])].map(({ id, name }) => [id, name])),
    [liveItems, endedItems],
  );
  return useCallback(
    (actor) => {
      if (actor.startsWith("session:")) return "You";
      if (actor.startsWith("token:")) return names.get(actor.slice("token:".length)) ?? "A token";
      return "Keep";
    },
    [names],
  );
}
