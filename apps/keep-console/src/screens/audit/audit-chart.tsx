import { Loading } from "@hearth-and-keep/page-design";
import type { DailyCounts } from "@hearth-and-keep/vault-contract";
import { useQuery } from "../../vault-api/use-query.ts";
import { logPath } from "./audit-log.ts";
import type { LogId } from "./audit-record.ts";

const days = 30;
const dayFormat = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" });

type Day = DailyCounts["items"][number];
type Series = {
  readonly title: string;
  readonly kind: "reads" | "denials";
  readonly counts: readonly number[];
};

/** Reads come from the selected log; denials are always in the account log, whichever vault they concern. */
export function AuditChart({ logId }: { readonly logId: LogId }) {
  const own = useQuery<DailyCounts>(`${logPath(logId)}/daily?days=${days}`);
  const account = useQuery<DailyCounts>(`${logPath("account")}/daily?days=${days}`);
  if (own.state === "loading" || account.state === "loading")
    return <Loading lines={3} label="Loading charts" />;
  // The list below shows the error.
  if (own.state === "failed" || account.state === "failed") return null;
  const first: Series =
    logId === "account"
      ? { title: "Sign-ins", kind: "reads", counts: dailyCounts(own.body, "signed_in") }
      : { title: "Values read in this vault", kind: "reads", counts: dailyCounts(own.body, "read") };
  const second: Series = {
    title: logId === "account" ? "Denied requests" : "Denied requests, all vaults",
    kind: "denials",
    counts: dailyCounts(account.body, "denied"),
  };
  const dayLabels = own.body.items.map(({ day }) => dayFormat.format(new Date(`${day}T00:00:00Z`)));
  return (
    <section className="charts" aria-label={`Last ${days} days`}>
      <BarChart series={first} dayLabels={dayLabels} />
      <BarChart series={second} dayLabels={dayLabels} />
      <ChartTable series={[first, second]} dayLabels={dayLabels} />
    </section>
  );
}

function dailyCounts({ items }: DailyCounts, name: Exclude<keyof Day, "day">): readonly number[] {
  return items.map((day) => day[name]);
}

const height = 56;
const barWidth = 10;

type BarChartProps = { readonly series: Series; readonly dayLabels: readonly string[] };

function BarChart({ series: { title, kind, counts }, dayLabels }: BarChartProps) {
  const max = Math.max(1, ...counts);
  const sum = counts.reduce((total, count) => total + count, 0);
  return (
    <figure className="card chart">
      <figcaption>
        <span>{title}</span>
        <strong>{sum.toLocaleString("en")}</strong>
      </figcaption>
      <svg
        viewBox={`0 0 ${counts.length * barWidth} ${height}`}
        preserveAspectRatio="none"
        className={kind}
        aria-hidden="true"
      >
        {counts.map((count, day) => {
          const barHeight = count === 0 ? 1 : Math.max(3, (count / max) * height);
          return (
            <rect
              key={dayLabels[day]}
              className={count === 0 ? "zero" : "nonzero"}
              x={day * barWidth + 1}
              y={height - barHeight}
              width={barWidth - 2}
              height={barHeight}
            >
              <title>{`${dayLabels[day]}: ${count.toLocaleString("en")}`}</title>
            </rect>
          );
        })}
      </svg>
      <div className="row spread small muted">
        <span>{dayLabels[0]}</span>
        <span>Today</span>
      </div>
    </figure>
  );
}

/** The same numbers for screen readers. */
function ChartTable({
  series,
  dayLabels,
}: {
  readonly series: readonly Series[];
  readonly dayLabels: readonly string[];
}) {
  return (
    // A table is never narrower than its content, so it is hidden by a wrapper.
    <div className="visually-hidden">
      <table>
        <caption>Events per day</caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            {series.map(({ title }) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {dayLabels.map((name, day) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {series.map(({ title, counts }) => (
                <td key={title}>{counts[day]}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
