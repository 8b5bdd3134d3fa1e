import { ErrorNotice, Link } from "@hearth-and-keep/page-design";
import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { useQuery } from "../../vault-api/use-query.ts";
import { formatQuery, vaultPath } from "../secrets/api-paths.ts";
import { hrefOf } from "../secrets/secrets-location.ts";
import type { AuditRecord, LogId } from "./audit-record.ts";

export type ReadSecretsProps = { readonly logId: LogId; readonly record: AuditRecord };

/** The secrets whose values an event returned together, on request. */
export function ReadSecrets({ logId, record }: ReadSecretsProps) {
  const [isOpen, setIsOpen] = useState(false);
  const read = readSecretsOf(record);
  if (read === undefined) return null;
  return (
    <details className="read-secrets small" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Show secrets</summary>
      {isOpen && <SecretNames vaultId={logId} {...read} />}
    </details>
  );
}

type ReadTogether = {
  readonly folder: string;
  readonly secrets: readonly { readonly id: string; readonly version: string }[];
};

/** Records name secrets by id and version, `0198…@3`, because their paths can change. */
export function readSecretsOf({ body }: Pick<AuditRecord, "body">): ReadTogether | undefined {
  if (typeof body !== "object" || body === null || !("secrets" in body)) return undefined;
  const { secrets } = body;
  if (!Array.isArray(secrets) || secrets.length === 0) return undefined;
  const folder = "path" in body && typeof body.path === "string" ? body.path : "/";
  const parsed = secrets.map((each) => {
    const [id = "", version = ""] = String(each).split("@");
    return { id, version };
  });
  return { folder, secrets: parsed };
}

type SecretPage = { readonly items: readonly SecretMetadata[] };

/** By the names that they have now, of those among the first of the folder. */
function SecretNames({ vaultId, folder, secrets }: ReadTogether & { readonly vaultId: string }) {
  const query = formatQuery({ path: folder, recursive: "true", limit: "200" });
  const page = useQuery<SecretPage>(`${vaultPath(vaultId)}/secrets${query}`);
  if (page.state === "loading") return <p className="muted">Loading…</p>;
  if (page.state === "failed") return <ErrorNotice text={page.error.message} onRetry={page.reload} />;
  const known = new Map(page.body.items.map((secret) => [secret.id, secret]));
  const named = secrets.flatMap(({ id, version }) => {
    const secret = known.get(id);
    return secret === undefined ? [] : [{ ...secret, version }];
  });
  const others = secrets.length - named.length;
  return (
    <ul>
      {named.map((secret) => (
        <li key={secret.id} className="break-words">
          <Link to={hrefOf({ vaultId, folder: secret.folder, secretId: secret.id })}>{secret.path}</Link>,
          version {secret.version}
        </li>
      ))}
      {others > 0 && (
        <li className="muted">{others} more: moved, deleted, or not among the first 200 of this folder</li>
      )}
    </ul>
  );
}
