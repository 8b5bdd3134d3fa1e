import { ErrorNotice } from "@hearth-and-keep/page-design";
import type { ApiToken, Vault } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { useQuery } from "../../vault-api/use-query.ts";
import type { TokenCollection } from "./token-collection.ts";
import { TokenList } from "./token-list.tsx";

type TokenPage = { readonly items: readonly ApiToken[]; readonly next_cursor?: string };

export type RevokedTokensProps = {
  readonly collection: TokenCollection;
  readonly vaults: readonly Vault[];
};

/** Collapsed by default. */
export function RevokedTokens({ collection, vaults }: RevokedTokensProps) {
  const path = `${collection.apiPath}?state=revoked&limit=50`;
  const first = useQuery<TokenPage>(path);
  if (first.state !== "loaded" || first.body.items.length === 0) return null;
  return (
    <RevokedTokenDetails key={first.body.items.length} {...{ collection, path, vaults }} first={first.body} />
  );
}

type RevokedTokenDetailsProps = RevokedTokensProps & { readonly path: string; readonly first: TokenPage };

function RevokedTokenDetails({ collection, path, first, vaults }: RevokedTokenDetailsProps) {
  const [more, setMore] = useState<readonly TokenPage[]>([]);
  const { error, isBusy, run } = useMutation();
  const pages = [first, ...more];
  const tokens = pages.flatMap(({ items }) => items);
  const next = pages.at(-1)?.next_cursor;
  const load = (): void =>
    void run(async () => {
      const { body } = await request<TokenPage>(`${path}&cursor=${next}`);
      setMore((before) => [...before, body]);
    });
  return (
    <details className="revoked">
      <summary>
        Revoked tokens ({tokens.length}
        {next === undefined ? "" : " and more"})
      </summary>
      <div className="stack">
        <TokenList {...{ collection, tokens, vaults }} />
        {error !== undefined && <ErrorNotice text={error.message} onRetry={load} />}
        {next !== undefined && (
          <div>
            <button type="button" className="button" disabled={isBusy} onClick={load}>
              Show more
            </button>
          </div>
        )}
      </div>
    </details>
  );
}
