import { Failed, Loading, WarnIcon } from "@hearth-and-keep/page-design";
import { Empty } from "../../design/empty.tsx";
import { ExactMoment } from "../../design/exact-moment.tsx";
import type { AuditRecord, LogPlace } from "./audit-record.ts";
import type { EventGroup } from "./event-groups.ts";
import { type Names, sentenceOf } from "./event-sentences.ts";
import { useAuditRecords } from "./use-audit-records.ts";

export type AuditEventsProps = {
  readonly place: LogPlace;
  readonly group: EventGroup;
  readonly names: Names;
};

export function AuditEvents({ place, group, names }: AuditEventsProps) {
  const { items, state, problem, hasMore, loadMore } = useAuditRecords(place, group.types);
  if (items.length === 0 && state === "loading") return <Loading lines={8} label="Loading the log" />;
  if (items.length === 0 && problem?.code === "not_found")
    return (
      <Empty title="There is no such log">
        The vault was deleted, or never was. Choose another log above; a deleted vault's log is back when the
        vault is restored.
      </Empty>
    );
  if (items.length === 0 && state === "idle" && !hasMore)
    return (
      <Empty title="Nothing here">
        {group.types.length === 0
          ? "What happens from now on is written down here."
          : "Nothing of this kind has happened. Choose “Everything” to see the rest."}
      </Empty>
    );
  return (
    <div className="stack">
      {items.length > 0 && (
        <ol className="card events" aria-label="Events, the newest first">
          {items.map((record) => (
            <Event key={record.seq} record={record} names={names} />
          ))}
        </ol>
      )}
      {problem !== undefined && <Failed text={problem.message} onRetry={loadMore} />}
      {hasMore && problem === undefined && (
        <div className="row events-ending">
          <button type="button" className="button" aria-disabled={state === "loading"} onClick={loadMore}>
            {state === "loading" ? "Loading…" : "Load more"}
          </button>
        </div>
      )}
    </div>
  );
}

function Event({ record, names }: { readonly record: AuditRecord; readonly names: Names }) {
  const { who, did, address, kind } = sentenceOf(record, names);
  return (
    <li className={`event ${kind}`}>
      {kind === "alarm" && <WarnIcon />}
      <p className="breaks">
        {who !== "" && <strong>{who} </strong>}
        {did}
      </p>
      <span className="event-place quiet small">
        <ExactMoment at={record.at} />
        {address !== undefined && <span className="breaks">{address}</span>}
        <span className="seq">#{record.seq.toLocaleString("en")}</span>
      </span>
    </li>
  );
}
