/**
 * @module
 * The environments of a vault side by side: which of them has which secret, a comparison of two, and the promotion of
 * values from one to another. Shows names and whether values are the same, never a value.
 * Imported by the secrets screen.
 */
import { ErrorNotice, Link, Loading, Notice } from "@hearth-and-keep/page-design";
import type { Session, VaultDetail } from "@hearth-and-keep/vault-contract";
import { EmptyState } from "../../design/empty-state.tsx";
import { useQuery } from "../../vault-api/use-query.ts";
import { vaultPath } from "../secrets/api-paths.ts";
import { hrefOf } from "../secrets/secrets-location.ts";
import { useAccess } from "../secrets/vault-access.ts";
import { CompareEnvironments } from "./compare-environments.tsx";
import { buildMatrix } from "./environment-matrix.ts";
import { MatrixTable } from "./matrix-table.tsx";
import { useEnvironmentContents } from "./use-environment-contents.ts";

export type EnvironmentsViewProps = {
  readonly session: Session;
  readonly vaultId: string;
  readonly onOpenSettings: () => void;
};

export default function EnvironmentsView({ session, vaultId, onOpenSettings }: EnvironmentsViewProps) {
  const vault = useQuery<VaultDetail>(vaultPath(vaultId));
  const { allows } = useAccess();
  return (
    <>
      <nav className="breadcrumbs" aria-label="Folders">
        <Link to={hrefOf({ vaultId })}>All secrets</Link>
        <span aria-current="page">Environments</span>
      </nav>
      {vault.state === "loading" && <Loading lines={6} label="Loading environments" />}
      {vault.state === "failed" && <ErrorNotice text={vault.error.message} onRetry={vault.reload} />}
      {vault.state === "loaded" && vault.body.environments.length === 0 && (
        <EmptyState
          title="No environments yet"
          action={
            allows("vaults:write") && (
              <button type="button" className="button" onClick={onOpenSettings}>
                Vault settings
              </button>
            )
          }
        >
          An environment is a folder at the top of the vault, such as dev, staging or prod. Name them in the
          vault settings to see them side by side, compare them and promote values.
        </EmptyState>
      )}
      {vault.state === "loaded" && vault.body.environments.length > 0 && (
        <Environments key={vault.body.environments.join("\n")} session={session} vault={vault.body} />
      )}
    </>
  );
}

type EnvironmentsProps = { readonly session: Session; readonly vault: VaultDetail };

function Environments({ session, vault }: EnvironmentsProps) {
  const { id, environments, base } = vault;
  const folders = environments.map((name) => `/${name}`);
  const { contents, reload } = useEnvironmentContents(id, base === null ? folders : [...folders, base]);
  if (contents.state === "loading") return <Loading lines={6} label="Loading environments" />;
  if (contents.state === "failed") return <ErrorNotice text={contents.error.message} onRetry={reload} />;
  const loaded = contents.folders;
  const rows = buildMatrix(
    loaded.slice(0, environments.length),
    base === null ? undefined : loaded[environments.length],
  );
  return (
    <div className="stack">
      {environments.length > 1 && <CompareEnvironments {...{ session, vault }} />}
      {contents.truncated.length > 0 && (
        <Notice kind="warning">
          More than 1,000 secrets are in {contents.truncated.join(", ")}; only the first ones are shown.
        </Notice>
      )}
      <MatrixTable {...{ vault, rows }} />
    </div>
  );
}
