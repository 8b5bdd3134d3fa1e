/**
 * @module
 * Secrets: the vaults of a person, their folders and secrets, and everything that is done with them. Where one is stands
 * in the address (`secrets-place.ts`), lists come in pages as one scrolls (`use-pages.ts`), and a value is in the page
 * only while its time lasts (`use-sight.ts`). Promises that no value is remembered, stored or put into an address.
 * Imported by `screens.tsx`.
 */
import { Failed, go, Loading } from "@hearth-and-keep/page-design";
import type { Session, Vault } from "@hearth-and-keep/vault-contract";
import { useEffect } from "react";
import { useAnswer } from "../../vault-api/use-query.ts";
import { vaultsPath } from "./api-paths.ts";
import { addressOf, usePlace } from "./secrets-location.ts";
import { VaultView } from "./vault-view.tsx";

export default function SecretsScreen({ session }: { readonly session: Session }) {
  const vaults = useAnswer<readonly Vault[]>(`${vaultsPath}?limit=200`);
  const { vaultId } = usePlace();
  const known = vaults.state === "there" ? vaults.body : undefined;
  // The oldest is the personal one: it is made with the account and cannot be deleted.
  const first = known?.[0]?.id;
  useEffect(() => {
    if (vaultId === undefined && first !== undefined) go(addressOf({ vaultId: first }), { replaces: true });
  }, [vaultId, first]);
  if (vaults.state === "failed") return <Missing text={vaults.problem.message} onRetry={vaults.reload} />;
  const vault = known?.find(({ id }) => id === vaultId);
  // A vault made a moment ago is in the list's next answer.
  const isComing = vaults.state === "loading" || vaults.isOld || vaultId === undefined;
  if (vault !== undefined) return <VaultView key={vault.id} {...{ session, vault }} vaults={known ?? []} />;
  if (isComing) return <Loading lines={8} label="Loading the secrets" />;
  return (
    <Missing
      text="This vault is not here. It may be deleted, or belong to somebody else."
      onRetry={() => go("/secrets")}
    />
  );
}

function Missing(props: { readonly text: string; readonly onRetry: () => void }) {
  return (
    <div className="stack">
      <h1>Secrets</h1>
      <Failed {...props} />
    </div>
  );
}
