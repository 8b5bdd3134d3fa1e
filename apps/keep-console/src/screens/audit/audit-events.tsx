import { ErrorNotice, Loading, WarnIcon } from "@hearth-and-keep/page-design";
import { EmptyState } from "../../design/empty-state.tsx";
import { Timestamp } from "../../design/timestamp.tsx";
import { type AuditRecord, type LogId, recordName } from "./audit-record.ts";
import { describeEvent, type EntityNames } from "./describe-event.ts";
import type { EventFilter } from "./event-filters.ts";
import { useAuditRecords } from "./use-audit-records.ts";

export type AuditEventsProps = {
  readonly logId: LogId;
  readonly filter: EventFilter;
  readonly names: EntityNames;
};

export function AuditEvents({ logId, filter, names }: AuditEventsProps) {
  const { items, state, error, hasMore, loadMore } = useAuditRecords(logId, filter.types);
  if (items.length === 0 && state === "loading") return <Loading lines={8} label="Loading events" />;
  if (items.length === 0 && error?.code === "not_found")
    return (
      <EmptyState title="Log not found">
        This vault does not exist or was deleted. Restoring a deleted vault brings its log back.
      </EmptyState>
    );
  if (items.length === 0 && state === "idle" && !hasMore)
    return (
      <EmptyState title={filter.types.length === 0 ? "No events yet" : "No matching events"}>
        {filter.types.length === 0
          ? "New events appear here."
          : "Choose “All events” to see the rest of the log."}
      </EmptyState>
    );
  return (
    <div className="stack">
      {items.length > 0 && (
        <ol className="card events" aria-label="Events, newest first">
          {items.map((record) => (
            <Event key={recordName(record)} record={record} names={names} />
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

function Event({ record, names }: { readonly record: AuditRecord; readonly names: EntityNames }) {
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
    </li>
  );
}
