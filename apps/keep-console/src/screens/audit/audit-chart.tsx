import { Loading } from "@hearth-and-keep/page-design";
import type { DailyCounts } from "@hearth-and-keep/vault-contract";
import { useAnswer } from "../../vault-api/use-query.ts";
import { logPath } from "./audit-log.ts";
import type { LogPlace } from "./audit-record.ts";

const days = 30;
const dayName = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" });

type Day = DailyCounts["items"][number];
type Series = {
  readonly title: string;
  readonly kind: "reads" | "denials";
  readonly counts: readonly number[];
};

/** Reads are in a vault's log and denials in the account's, whichever vault they were about. */
export function AuditChart({ place }: { readonly place: LogPlace }) {
  const own = useAnswer<DailyCounts>(`${logPath(place)}/daily?days=${days}`);
  const account = useAnswer<DailyCounts>(`${logPath("account")}/daily?days=${days}`);
  if (own.state === "loading" || account.state === "loading")
    return <Loading lines={3} label="Loading the chart" />;
  // The list below says what is wrong.
  if (own.state === "failed" || account.state === "failed") return null;
  const first: Series =
    place === "account"
      ? { title: "Sign-ins", kind: "reads", counts: countsOf(own.body, "signed_in") }
      : { title: "Values read in this vault", kind: "reads", counts: countsOf(own.body, "read") };
  const second: Series = {
    title: place === "account" ? "Denied requests" : "Denied requests, whole account",
    kind: "denials",
    counts: countsOf(account.body, "denied"),
  };
  const names = own.body.items.map(({ day }) => dayName.format(new Date(`${day}T00:00:00Z`)));
  return (
    <section className="charts" aria-label={`The last ${days} days`}>
      <Bars series={first} names={names} />
      <Bars series={second} names={names} />
      <Numbers series={[first, second]} names={names} />
    </section>
  );
}

function countsOf({ items }: DailyCounts, name: Exclude<keyof Day, "day">): readonly number[] {
  return items.map((day) => day[name]);
}

const height = 56;
const step = 10;

type BarsProps = { readonly series: Series; readonly names: readonly string[] };

function Bars({ series: { title, kind, counts }, names }: BarsProps) {
  const highest = Math.max(1, ...counts);
  const sum = counts.reduce((total, count) => total + count, 0);
  return (
    <figure className="card chart">
      <figcaption>
        <span>{title}</span>
        <strong>{sum.toLocaleString("en")}</strong>
      </figcaption>
      <svg
        viewBox={`0 0 ${counts.length * step} ${height}`}
        preserveAspectRatio="none"
        className={kind}
        aria-hidden="true"
      >
        {counts.map((count, day) => {
          const tall = count === 0 ? 1 : Math.max(3, (count / highest) * height);
          return (
            <rect
              key={names[day]}
              className={count === 0 ? "none" : "some"}
              x={day * step + 1}
              y={height - tall}
              width={step - 2}
              height={tall}
            >
              <title>{`${names[day]}: ${count.toLocaleString("en")}`}</title>
            </rect>
          );
        })}
      </svg>
      <div className="row spread small quiet">
        <span>{names[0]}</span>
        <span>today</span>
      </div>
    </figure>
  );
}

/** The same for those who do not see bars. */
function Numbers({
  series,
  names,
}: {
  readonly series: readonly Series[];
  readonly names: readonly string[];
}) {
  return (
    // A table is never narrower than its words, so it is a box around it that takes no room.
    <div className="hidden-to-sight">
      <table>
        <caption>By day</caption>
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
          {names.map((name, day) => (
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
