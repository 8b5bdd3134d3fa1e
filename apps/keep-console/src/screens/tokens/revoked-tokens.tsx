import { ErrorNotice } from "@hearth-and-keep/page-design";
import type { ApiToken, Vault } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { useQuery } from "../../vault-api/use-query.ts";
import { TokenList } from "./token-list.tsx";

type TokenPage = { readonly items: readonly ApiToken[]; readonly next_cursor?: string };

const path = "/api/secrets/tokens?state=revoked&limit=50";

/** Collapsed by default. */
export function RevokedTokens({ vaults }: { readonly vaults: readonly Vault[] }) {
  const first = useQuery<TokenPage>(path);
  if (first.state !== "loaded" || first.body.items.length === 0) return null;
  return <RevokedTokenDetails key={first.body.items.length} first={first.body} vaults={vaults} />;
}

function RevokedTokenDetails({
  first,
  vaults,
}: {
  readonly first: TokenPage;
  readonly vaults: readonly Vault[];
}) {
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
        <TokenList tokens={tokens} vaults={vaults} />
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
