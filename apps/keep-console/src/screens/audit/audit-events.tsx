import { ErrorNotice, Loading, WarnIcon } from "@hearth-and-keep/page-design";
import { EmptyState } from "../../design/empty-state.tsx";
import { Timestamp } from "../../design/timestamp.tsx";
import { type AuditRecord, type LogId, recordName } from "./audit-record.ts";
import { describeEvent, type EntityNames } from "./describe-event.ts";
import type { EventFilter } from "./event-filters.ts";
import { type LogSearch, toParameters, wholeLog } from "./log-search.ts";
import { ReadSecrets } from "./read-secrets.tsx";
import { useAuditRecords } from "./use-audit-records.ts";

export type AuditEventsProps = {
  readonly logId: LogId;
  readonly filter: EventFilter;
  readonly search?: LogSearch;
  readonly names: EntityNames;
};

/** To show something else, mount it again under another key. */
export function AuditEvents({ logId, filter, search = wholeLog, names }: AuditEventsProps) {
  const { items, state, error, hasMore, loadMore } = useAuditRecords({ logId, types: filter.types, search });
  const isNarrowed = filter.types.length > 0 || Object.keys(toParameters(search)).length > 0;
  if (items.length === 0 && state === "loading") return <Loading lines={8} label="Loading events" />;
  if (items.length === 0 && error?.code === "not_found")
    return (
      <EmptyState title="Log not found">
        This vault does not exist or was deleted. Restoring a deleted vault brings its log back.
      </EmptyState>
    );
  if (items.length === 0 && state === "idle" && !hasMore)
    return (
      <EmptyState title={isNarrowed ? "No matching events" : "No events yet"}>
        {isNarrowed ? "Change the filters to see the rest of the log." : "New events appear here."}
      </EmptyState>
    );
  return (
    <div className="stack">
      {items.length > 0 && (
        <ol className="card events" aria-label="Events, newest first">
          {items.map((record) => (
            <Event key={recordName(record)} {...{ logId, record, names }} />
          ))}
        </ol>
      )}
      {error !== undefined && <ErrorNotice text={error.message} onRetry={loadMore} />}
      {hasMore && error === undefined && (
        <div className="row events-footer">
          <button type="button" className="button" aria-disabled={state === "loading"} onClick={loadMore}>
            {state === "loading" ? "Loading…" : "Load more"}
          </button>
        </div>
      )}
    </div>
  );
}

type EventProps = Pick<AuditEventsProps, "logId" | "names"> & { readonly record: AuditRecord };

function Event({ logId, record, names }: EventProps) {
  const { actor, action, address, kind } = describeEvent(record, names);
  return (
    <li className={`event ${kind}`}>
      {kind === "alert" && <WarnIcon />}
      <p className="break-words">
        {actor !== "" && <strong>{actor} </strong>}
        {action}
      </p>
      <span className="event-meta muted small">
        <Timestamp at={record.at} />
        {address !== undefined && <span className="break-words">{address}</span>}
        <span className="record-name">{recordName(record)}</span>
      </span>
      <ReadSecrets logId={logId} record={record} />
    </li>
  );
}
