/**
 * @module
 * The usage of API keys from the ledger: ranges of time, and rows as JSON and as CSV, for `GET /api/usage` and
 * `hearth keys usage` alike. A key for inference sees its own rows only, whatever it asks for.
 * Imported by `routes.ts` and by `commands/`.
 */
export type Bucket = "hour" | "day";

/** Whole buckets. */
export type UsageRange = { readonly from: number; readonly to: number; readonly bucket: Bucket };

export type RangeText = {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly bucket?: Bucket | undefined;
};

/** A range that cannot be read; `field` is the part of it that is wrong. */
export class InvalidRangeError extends Error {
  readonly field: "from" | "to";

  constructor(field: "from" | "to", reason: string) {
    super(reason);
    this.field = field;
  }
}

export const bucketMilliseconds: Readonly<Record<Bucket, number>> = { hour: 3_600_000, day: 86_400_000 };

const defaultDays = 30;
/** Forty days by the hour, or nearly three years by the day. */
const maxBuckets = 1000;
const datePattern = /^\d{4}-\d{2}-\d{2}$/u;
const timePattern = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2})$/u;

/** The last 30 days by default. A date as the end includes that day; the end of anything else is not included. */
export function readRange({ from, to, bucket = "day" }: RangeText, now: number): UsageRange {
  const width = bucketMilliseconds[bucket];
  const end = ceil(to === undefined ? now + 1 : readMoment("to", to), width);
  const firstDefault = floor(end - 1, bucketMilliseconds.day) - (defaultDays - 1) * bucketMilliseconds.day;
  const start = floor(from === undefined ? firstDefault : readMoment("from", from), width);
  if (start >= end) throw new InvalidRangeError("from", "must be before the end of the range");
  if ((end - start) / width > maxBuckets) {
    throw new InvalidRangeError("from", `must be at most ${maxBuckets} buckets before the end of the range`);
  }
  return { from: start, to: end, bucket };
}

function readMoment(field: "from" | "to", text: string): number {
  const isDate = datePattern.test(text);
  const time = isDate || timePattern.test(text) ? Date.parse(text) : Number.NaN;
  const day = Date.parse(text.slice(0, 10));
  // JavaScript takes 31 February for 3 March.
  const exists = Number.isFinite(day) && new Date(day).toISOString().slice(0, 10) === text.slice(0, 10);
  if (!Number.isFinite(time) || !exists) {
    throw new InvalidRangeError(field, 'must be a date as "2026-01-31" or a time as "2026-01-31T12:00:00Z"');
  }
  return field === "to" && isDate ? time + bucketMilliseconds.day : time;
}

function floor(time: number, width: number): number {
  return Math.floor(time / width) * width;
}

function ceil(time: number, width: number): number {
  return Math.ceil(time / width) * width;
}
