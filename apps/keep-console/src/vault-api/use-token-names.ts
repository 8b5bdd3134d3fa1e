import type { ApiToken } from "@hearth-and-keep/vault-contract";
import { useMemo } from "react";
import { useAnswer } from "./use-query.ts";

type TokenPage = { readonly items: readonly ApiToken[] };

/** The names of the account's tokens by their ids, the newest two hundred of those that hold and of those that ended. */
export function useTokenNames(): ReadonlyMap<string, string> {
  const live = useAnswer<TokenPage>("/api/secrets/tokens?limit=200");
  const ended = useAnswer<TokenPage>("/api/secrets/tokens?limit=200&state=revoked");
  const liveItems = live.state === "there" ? live.body.items : undefined;
  const endedItems = ended.state === "there" ? ended.body.items : undefined;
  return useMemo(
    () => new Map([...(endedItems ?? []), ...(liveItems ?? [])].map(({ id, name }) => [id, name])),
    [liveItems, endedItems],
  );
}
