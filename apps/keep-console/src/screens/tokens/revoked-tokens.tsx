import { Failed } from "@hearth-and-keep/page-design";
import type { ApiToken, Vault } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { useAnswer } from "../../vault-api/use-query.ts";
import { TokenList } from "./token-list.tsx";

type TokenPage = { readonly items: readonly ApiToken[]; readonly next_cursor?: string };

const path = "/api/secrets/tokens?state=revoked&limit=50";

/** Folded away: they are looked up, not used. */
export function RevokedTokens({ vaults }: { readonly vaults: readonly Vault[] }) {
  const first = useAnswer<TokenPage>(path);
  if (first.state !== "there" || first.body.items.length === 0) return null;
  return <Folded key={first.body.items.length} first={first.body} vaults={vaults} />;
}

function Folded({ first, vaults }: { readonly first: TokenPage; readonly vaults: readonly Vault[] }) {
  const [more, setMore] = useState<readonly TokenPage[]>([]);
  const { problem, isBusy, run } = useDoing();
  const pages = [first, ...more];
  const tokens = pages.flatMap(({ items }) => items);
  const next = pages.at(-1)?.next_cursor;
  const load = (): void =>
    void run(async () => {
      const { body } = await ask<TokenPage>(`${path}&cursor=${next}`);
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
        {problem !== undefined && <Failed text={problem.message} onRetry={load} />}
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
