/**
 * @module
 * Secrets: vaults, folders and secrets, and all their actions. The URL holds the location (`secrets-location.ts`), lists
 * load page by page while scrolling (`vault-api/use-paged-list.ts`), and a value is in the document only while its reveal
 * timer runs (`use-reveal-timer.ts`). Values are never cached, stored or put into a URL. In a vault of an organisation,
 * what the person may not do is not shown (`vault-access.ts`).
 * Imported by `screens.tsx`.
 */
import { ErrorNotice, Loading, navigate } from "@hearth-and-keep/page-design";
import type { Session, Vault } from "@hearth-and-keep/vault-contract";
import { useEffect } from "react";
import { useQuery } from "../../vault-api/use-query.ts";
import { vaultsPath } from "./api-paths.ts";
import { hrefOf, useSecretsLocation } from "./secrets-location.ts";
import { useVault } from "./use-vault.ts";
import { AccessContext } from "./vault-access.ts";
import { VaultView } from "./vault-view.tsx";

export default function SecretsScreen({ session }: { readonly session: Session }) {
  const vaults = useQuery<readonly Vault[]>(`${vaultsPath}?limit=200`);
  const { vaultId } = useSecretsLocation();
  const opened = useVault(vaultId, vaults);
  const list = vaults.state === "loaded" ? vaults.body : undefined;
  // The oldest vault is the personal one: it is created with the account and cannot be deleted.
  const first = list?.[0]?.id;
  useEffect(() => {
    if (vaultId === undefined && first !== undefined) navigate(hrefOf({ vaultId: first }), { replace: true });
  }, [vaultId, first]);
  if (vaults.state === "failed") return <ScreenError text={vaults.error.message} onRetry={vaults.reload} />;
  if (opened.state === "loaded") {
    const { vault, access } = opened;
    return (
      <AccessContext value={access}>
        <VaultView key={vault.id} {...{ session, vault }} vaults={list ?? []} />
      </AccessContext>
    );
  }
  if (opened.state === "loading") return <Loading lines={8} label="Loading secrets" />;
  if (opened.error.code !== "not_found")
    return <ScreenError text={opened.error.message} onRetry={opened.reload} />;
  return (
    <ScreenError
      text="Vault not found. It may be deleted, or you may not have access to it."
      onRetry={() => navigate("/secrets")}
    />
  );
}

function ScreenError(props: { readonly text: string; readonly onRetry: () => void }) {
  return (
    <div className="stack">
      <h1>Secrets</h1>
      <ErrorNotice {...props} />
    </div>
  );
}
