import { CopyButton, ErrorNotice, Link, Loading, Notice } from "@hearth-and-keep/page-design";
import type { Exposure, Member } from "@hearth-and-keep/vault-contract";
import { Timestamp } from "../../design/timestamp.tsx";
import { memberName, organisationPath } from "../../vault-api/member-names.ts";
import { type QueryResult, useQuery } from "../../vault-api/use-query.ts";
import { hrefOf } from "../secrets/secrets-location.ts";

type ExposedSecretsProps = { readonly organisationId: string; readonly member: Member };

type ExposureQuery = QueryResult<Exposure> & { readonly reload: () => void };

export function useExposure({ organisationId, member }: ExposedSecretsProps): ExposureQuery {
  return useQuery<Exposure>(`${organisationPath(organisationId)}/members/${member.person_id}/exposure`);
}

/** Rows that are rendered; the copied list has all. */
const maxRows = 200;

/** The secrets whose current value a member has read, which only a new value protects. */
export function ExposedSecrets(props: ExposedSecretsProps) {
  return <ExposureView exposure={useExposure(props)} name={memberName(props.member)} />;
}

export type ExposureViewProps = { readonly exposure: ExposureQuery; readonly name: string };

export function ExposureView({ exposure, name }: ExposureViewProps) {
  if (exposure.state === "loading") return <Loading lines={3} label="Loading secrets that were read" />;
  if (exposure.state === "failed")
    return <ErrorNotice text={exposure.error.message} onRetry={exposure.reload} />;
  const { items, is_complete: isComplete } = exposure.body;
  const current = items.filter(({ is_current: isCurrent }) => isCurrent);
  return (
    <div className="stack">
      {current.length === 0 ? (
        <p>{name} has not read the current value of any secret of this organisation.</p>
      ) : (
        <>
          <Notice kind="warning">
            {name} has read the current value of{" "}
            <strong>{current.length === 1 ? "1 secret" : `${current.length} secrets`}</strong> and may have
            kept a copy.{" "}
            {current.length === 1
              ? "Replace the value where it is issued, then save the new one here."
              : "Replace the values where they are issued, then save the new ones here."}
          </Notice>
          <SecretLinks items={current} />
        </>
      )}
      {!isComplete && (
        <p className="muted small">
          A log is too long to be searched whole, so this list may not be complete.
        </p>
      )}
    </div>
  );
}

function SecretLinks({ items }: Pick<Exposure, "items">) {
  const lines = items.map(({ vault_name, path }) => `${vault_name}\t${path}`).join("\n");
  const rest = items.length - maxRows;
  return (
    <>
      <ul className="exposed" aria-label="Secrets to replace">
        {items.slice(0, maxRows).map(({ vault_id, vault_name, secret_id, path, read_at }) => (
          <li key={secret_id}>
            <Link
              className="mono break-words"
              to={hrefOf({ vaultId: vault_id, folder: folderOf(path), secretId: secret_id })}
            >
              {path}
            </Link>
            <span className="muted small break-words">
              {vault_name}, read <Timestamp at={read_at} />
            </span>
          </li>
        ))}
      </ul>
      <div className="row spread">
        <span className="muted small">{rest > 0 && `${rest} more are in the copied list.`}</span>
        <CopyButton text={lines} label="Copy list of secrets">
          Copy list
        </CopyButton>
      </div>
    </>
  );
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/"))) || "/";
}
