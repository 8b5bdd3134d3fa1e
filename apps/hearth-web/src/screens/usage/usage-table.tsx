import { useState } from "react";
import { formatCount, formatSeconds } from "../../design/format-number.ts";
import { revealBidiControls } from "../../design/reveal-bidi-controls.ts";
import {
  type Grouping,
  type SortColumn,
  type SortOrder,
  sortGroups,
  type UsageGroup,
} from "./usage-report.ts";

export type UsageTableProps = { readonly grouping: Grouping; readonly groups: readonly UsageGroup[] };

type NumberColumn = {
  readonly column: Exclude<SortColumn, "name">;
  readonly label: string;
  readonly format: (value: number) => string;
};

const numberColumns: readonly NumberColumn[] = [
  { column: "requests", label: "Requests", format: formatCount },
  { column: "failed", label: "Failed", format: formatCount },
  { column: "input", label: "Input tokens", format: formatCount },
  { column: "cachedInput", label: "Cached", format: formatCount },
  { column: "output", label: "Output tokens", format: formatCount },
  { column: "queueSeconds", label: "Mean queue time", format: formatSeconds },
  { column: "firstTokenSeconds", label: "Mean time to first token", format: formatSeconds },
];

const maxRows = 200;

/** All keys or models. A press on a column's name sorts by it, a second one in the other direction. */
export function UsageTable({ grouping, groups }: UsageTableProps) {
  const [order, setOrder] = useState<SortOrder>({ column: "input", isDescending: true });
  const nameLabel = grouping === "key" ? "Key" : "Model";
  const sorted = sortGroups(groups, order);
  // Numbers are most interesting at their largest, names at the start of the alphabet.
  const sortBy = (column: SortColumn): void =>
    setOrder({ column, isDescending: order.column === column ? !order.isDescending : column !== "name" });
  const sortable = [{ column: "name", label: nameLabel } as const, ...numberColumns];
  return (
    <section className="stack tight" aria-labelledby="usage-groups">
      <h2 id="usage-groups">{grouping === "key" ? "Keys" : "Models"}</h2>
      <section className="card wide-table usage-table" aria-label={`Usage by ${grouping}`} tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              {sortable.map(({ column, label }) => (
                <SortHeader key={column} column={column} label={label} order={order} onSort={sortBy} />
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, maxRows).map((group) => (
              <tr key={group.name}>
                <th scope="row">
                  <GroupName grouping={grouping} group={group} />
                </th>
                {numberColumns.map(({ column, format }) => (
                  <td key={column}>{formatValue(group[column], format)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {sorted.length > maxRows && (
        <p className="muted small">{formatCount(sorted.length - maxRows)} more are in the CSV file.</p>
      )}
    </section>
  );
}

function formatValue(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? "–" : format(value);
}

type SortHeaderProps = {
  readonly column: SortColumn;
  readonly label: string;
  readonly order: SortOrder;
  readonly onSort: (column: SortColumn) => void;
};

function SortHeader({ column, label, order, onSort }: SortHeaderProps) {
  const direction = order.isDescending ? "descending" : "ascending";
  const isSorted = order.column === column;
  return (
    <th scope="col" aria-sort={isSorted ? direction : "none"}>
      <button type="button" onClick={() => onSort(column)}>
        {label}
        <span className="sort-arrow" aria-hidden="true">
          {isSorted && (order.isDescending ? "↓" : "↑")}
        </span>
      </button>
    </th>
  );
}

/** Key names are chosen by people, and model names by their publishers. */
function GroupName({ grouping, group }: { readonly grouping: Grouping; readonly group: UsageGroup }) {
  const elsewhere = grouping === "model" ? group.locations.filter((location) => location !== "local") : [];
  return (
    <>
      <bdi className="usage-name">{revealBidiControls(group.name)}</bdi>
      {elsewhere.map((location) => (
        <span key={location} className="badge">
          {location}
        </span>
      ))}
    </>
  );
}
