/**
 * @module
 * Audit: the log of each vault and of the account as sentences, with filters and charts. A log can be exported, and
 * verified in the browser without trusting the server that shows it.
 * Shown by `screens.tsx`.
 */
import { ErrorNotice, Loading, navigate, useLocation } from "@hearth-and-keep/page-design";
import type { Session, Vault } from "@hearth-and-keep/vault-contract";
import { SelectField } from "../../design/field.tsx";
import { DownloadIcon } from "../../design/icons.tsx";
import { useQuery } from "../../vault-api/use-query.ts";
import { AuditChart } from "./audit-chart.tsx";
import { AuditEvents } from "./audit-events.tsx";
import { logPath } from "./audit-log.ts";
import type { LogId } from "./audit-record.ts";
import { findFilter } from "./event-filters.ts";
import { hrefOfLog, parseSearch } from "./log-search.ts";
import { SearchFields } from "./search-fields.tsx";
import { useActorNames, useEntityNames } from "./use-entity-names.ts";
import { type LogSource, useLogSource } from "./use-log-source.ts";
import { useVerification, VerifyPanel } from "./verify-panel.tsx";

export default function AuditScreen({ session }: { readonly session: Session }) {
  const { query } = useLocation();
  const vaults = useQuery<readonly Vault[]>("/api/secrets/vaults?limit=200");
  if (vaults.state === "loading") return <Loading lines={8} />;
  if (vaults.state === "failed") {
    return (
      <div className="stack">
        <h1>Audit</h1>
        <ErrorNotice text={vaults.error.message} onRetry={vaults.reload} />
      </div>
    );
  }
  const logId = query.get("vault") ?? vaults.body[0]?.id ?? "account";
  return <Log key={logId} logId={logId} vaults={vaults.body} session={session} />;
}

type LogProps = {
  readonly session: Session;
  readonly logId: LogId;
  readonly vaults: readonly Vault[];
};

function Log({ logId, vaults, session }: LogProps) {
  const search = parseSearch(useLocation());
  const source = useLogSource(logId, vaults);
  const { organisationId } = source;
  const actors = useActorNames(organisationId);
  const names = useEntityNames({ session, vaults, organisationId, actors });
  const { verification, verify } = useVerification(logId);
  return (
    <div className="stack">
      <div className="screen-header audit-header">
        <div>
          <h1>Audit</h1>
          <p className="muted">
            Who did what, and when. Verify checks the log for tampering in your browser.
          </p>
        </div>
        <div className="row">
          <a className="button" href={`${logPath(logId)}/export`} download={`keep-audit-${logId}.ndjson`}>
            <DownloadIcon />
            Export
          </a>
          <button
            type="button"
            className="button primary"
            aria-disabled={verification.state === "verifying"}
            onClick={verify}
          >
            {verification.state === "verifying" ? "Verifying…" : "Verify"}
          </button>
        </div>
      </div>
      <VerifyPanel verification={verification} onRetry={verify} />
      <AuditChart logId={logId} />
      <div className="audit-filters">
        <SelectField
          label="Log"
          value={logId}
          options={logOptions(logId, vaults, source)}
          onChange={(selected) => navigate(hrefOfLog(selected), { replace: true })}
        />
        <SearchFields {...{ logId, search, organisationId, actors }} />
      </div>
      <AuditEvents
        key={hrefOfLog(logId, search)}
        logId={logId}
        filter={findFilter(logId, search.show)}
        search={search}
        names={names}
      />
    </div>
  );
}

function logOptions(logId: LogId, vaults: readonly Vault[], { vaultName }: LogSource) {
  const isListed = logId === "account" || vaults.some(({ id }) => id === logId);
  return [
    ...vaults.map(({ id, name }) => ({ value: id, label: `Vault: ${name}` })),
    { value: "account", label: "Account" },
    ...(isListed
      ? []
      : [{ value: logId, label: vaultName === undefined ? "Unknown vault" : `Vault: ${vaultName}` }]),
  ];
}
