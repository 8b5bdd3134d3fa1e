import type { UsageRow } from "./usage-report.ts";

type Bucket = "hour" | "day";

export type Period = {
  readonly id: "day" | "week" | "month";
  /** On its button, and after "in the last". */
  readonly label: string;
  readonly bucket: Bucket;
  /** The number of buckets; the last one is still running. */
  readonly count: number;
};

export const defaultPeriod: Period = { id: "week", label: "7 days", bucket: "day", count: 7 };

export const periods: readonly Period[] = [
  { id: "day", label: "24 hours", bucket: "hour", count: 24 },
  defaultPeriod,
  { id: "month", label: "30 days", bucket: "day", count: 30 },
];

export const bucketMilliseconds: Readonly<Record<Bucket, number>> = { hour: 3_600_000, day: 86_400_000 };

/** When each bucket begins, oldest first, in milliseconds since the epoch. Days begin at midnight UTC, like budgets. */
export function bucketStarts({ bucket, count }: Period, now: number): readonly number[] {
  const length = bucketMilliseconds[bucket];
  const last = Math.floor(now / length) * length;
  return Array.from({ length: count }, (_, index) => last - (count - 1 - index) * length);
}

/** The API takes whole days, so that 24 hours need two of them. */
export function usageQuery(period: Period, now: number): string {
  const [first = now] = bucketStarts(period, now);
  const query = { from: dateOf(first), to: dateOf(now), bucket: period.bucket };
  return String(new URLSearchParams(query));
}

function dateOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** The rows of each bucket; rows outside of all buckets are left out. */
export function rowsByBucket(
  rows: readonly UsageRow[],
  { bucket }: Period,
  starts: readonly number[],
): ReadonlyMap<number, readonly UsageRow[]> {
  const length = bucketMilliseconds[bucket];
  const found = Map.groupBy(rows, ({ start }) => Math.floor(Date.parse(start) / length) * length);
  return new Map(starts.map((start) => [start, found.get(start) ?? []]));
}

const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" });
const hour = new Intl.DateTimeFormat("en", {
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
  timeZone: "UTC",
});

/** E.g. "Nov 18", or "Nov 18, 14:00" for an hour. */
export function formatBucket(start: number, bucket: Bucket): string {
  return bucket === "day" ? day.format(start) : `${day.format(start)}, ${hour.format(start)}`;
}

/** For an axis, on which midnight shows the date. */
export function formatTick(start: number, bucket: Bucket): string {
  return bucket === "day" || start % bucketMilliseconds.day === 0 ? day.format(start) : hour.format(start);
}
