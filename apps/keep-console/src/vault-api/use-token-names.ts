import type { ApiToken } from "@hearth-and-keep/vault-contract";
import { useMemo } from "react";
import { useQuery } from "./use-query.ts";

type TokenPage = { readonly items: readonly ApiToken[] };

/** Token names by id: the newest 200 active and the newest 200 revoked tokens of the account. */
export function useTokenNames(): ReadonlyMap<string, string> {
  const active = useQuery<TokenPage>("/api/secrets/tokens?limit=200");
  const revoked = useQuery<TokenPage>("/api/secrets/tokens?limit=200&state=revoked");
  const activeItems = active.state === "loaded" ? active.body.items : undefined;
  const revokedItems = revoked.state === "loaded" ? revoked.body.items : undefined;
  return useMemo(
    () => new Map([...(revokedItems ?? []), ...(activeItems ?? [])].map(({ id, name }) => [id, name])),
    [activeItems, revokedItems],
  );
}
