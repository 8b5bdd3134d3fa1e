/** A calendar month in UTC. */
export type Month = {
  /** `YYYY-MM`, which sorts by time. */
  readonly name: string;
  /** Numbers of records: at least `start` and below `end`. */
  readonly start: number;
  readonly end: number;
};

const microsecondsPerMillisecond = 1000;

/** Undefined unless the text is `YYYY-MM`. */
export function parseMonth(text: string): Month | undefined {
  const { year, month } = /^(?<year>\d{4})-(?<month>0[1-9]|1[0-2])$/u.exec(text)?.groups ?? {};
  if (year === undefined || month === undefined) return undefined;
  const startOf = (after: number): number =>
    Date.UTC(Number(year), Number(month) - 1 + after) * microsecondsPerMillisecond;
  return { name: text, start: startOf(0), end: startOf(1) };
}

/** The name of the month before. */
export function monthBefore({ start }: Month): string {
  const lastMoment = new Date(start / microsecondsPerMillisecond - 1);
  return lastMoment.toISOString().slice(0, 7);
}

/** The month of a partition, by its name. */
export function monthOfPartition(partition: string): Month | undefined {
  const { year, month } = /^audit_record_(?<year>\d{4})_(?<month>\d{2})$/u.exec(partition)?.groups ?? {};
  return year === undefined ? undefined : parseMonth(`${year}-${month}`);
}
