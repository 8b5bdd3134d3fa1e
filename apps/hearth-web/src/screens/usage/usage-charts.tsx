import { Loading } from "@hearth-and-keep/page-design";
import { lazy, Suspense, useMemo } from "react";
import { formatCount } from "../../design/format-number.ts";
import { type Bar, barsOfBuckets, barsOfGroups } from "./usage-bars.ts";
import type { Grouping, UsageGroup } from "./usage-report.ts";
import type { Usage } from "./use-usage.ts";

const BarChart = lazy(() => import("./bar-chart.tsx"));

/** Divisors of a day, so that the labels of hours repeat every day. */
const hourSteps = [1, 2, 3, 6, 12];
const daySteps = [1, 2, 5, 10];

export type UsageChartsProps = {
  readonly usage: Usage;
  readonly grouping: Grouping;
  readonly groups: readonly UsageGroup[];
};

export function UsageCharts({ usage: { buckets, period }, grouping, groups }: UsageChartsProps) {
  const columns = useMemo(() => barsOfBuckets(buckets, period), [buckets, period]);
  const rows = useMemo(() => barsOfGroups(groups), [groups]);
  return (
    <>
      <Suspense fallback={<Loading label="Loading charts" />}>
        <div className="charts">
          <BarChart
            key={period.id}
            title={`Tokens per ${period.bucket}`}
            bars={columns}
            direction="columns"
            labelSteps={period.bucket === "hour" ? hourSteps : daySteps}
          />
          {rows.length > 0 && (
            <BarChart
              key={`${period.id} ${grouping}`}
              title={`Tokens per ${grouping}`}
              bars={rows}
              direction="rows"
              labelSteps={[1]}
            />
          )}
        </div>
      </Suspense>
      <BucketTable title={`Tokens per ${period.bucket}`} bars={columns} />
    </>
  );
}

/** The values of the chart as a table, the latest first; those of keys and models are in their own table. */
function BucketTable({ title, bars }: { readonly title: string; readonly bars: readonly Bar[] }) {
  return (
    <details className="disclosure">
      <summary>{title} as a table</summary>
      <section className="card wide-table usage-table" aria-label={title} tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Start (UTC)</th>
              <th scope="col">Input, not cached</th>
              <th scope="col">Cached input</th>
              <th scope="col">Output</th>
            </tr>
          </thead>
          <tbody>
            {bars.toReversed().map(({ at, label, uncachedInput, cachedInput, output }) => (
              <tr key={at}>
                <th scope="row">{label}</th>
                <td>{formatCount(uncachedInput)}</td>
                <td>{formatCount(cachedInput)}</td>
                <td>{formatCount(output)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
