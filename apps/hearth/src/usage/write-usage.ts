import type { UsageRecord, UsageSum } from "../key-store/usage-ledger.ts";
import type { UsageRange } from "./read-range.ts";

const sumColumns = [
  "start",
  "key",
  "model",
  "where",
  "requests",
  "failed",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "queue_seconds",
  "first_token_seconds",
] as const;

type Counters = Omit<UsageSum, "start" | "key" | "model" | "location">;

/** The response of `GET /api/usage`. Without a ledger, the rows are empty. */
export function writeUsage({ from, to, bucket }: UsageRange, sums: readonly UsageSum[] | undefined) {
  return {
    from: writeTime(from),
    to: writeTime(to),
    bucket,
    ledger: sums === undefined ? "off" : "on",
    rows: (sums ?? []).map(writeSum),
    totals: writeCounters((sums ?? []).reduce(addCounters, noCounters)),
  };
}

export function writeUsageCsv(sums: readonly UsageSum[]): string {
  const lines = sums.map(writeSum).map((row) => sumColumns.map((column) => writeCell(row[column])).join(","));
  // RFC 4180 has these line ends.
  return [sumColumns.join(","), ...lines, ""].join("\r\n");
}

function writeSum(sum: UsageSum) {
  const { start, key, model, location } = sum;
  return { start: writeTime(start), key, model, where: location, ...writeCounters(sum) };
}

function writeCounters(counters: Counters) {
  return {
    requests: counters.requests,
    failed: counters.failed,
    input_tokens: counters.inputTokens,
    cached_tokens: counters.cachedTokens,
    output_tokens: counters.outputTokens,
    queue_seconds: writeMean(counters.queueMilliseconds, counters.queued),
    first_token_seconds: writeMean(counters.firstTokenMilliseconds, counters.firstTokens),
  };
}

const noCounters: Counters = {
  requests: 0,
  failed: 0,
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  queued: 0,
  queueMilliseconds: 0,
  firstTokens: 0,
  firstTokenMilliseconds: 0,
};

function addCounters(total: Counters, sum: Counters): Counters {
  return {
    requests: total.requests + sum.requests,
    failed: total.failed + sum.failed,
    inputTokens: total.inputTokens + sum.inputTokens,
    cachedTokens: total.cachedTokens + sum.cachedTokens,
    outputTokens: total.outputTokens + sum.outputTokens,
    queued: total.queued + sum.queued,
    queueMilliseconds: total.queueMilliseconds + sum.queueMilliseconds,
    firstTokens: total.firstTokens + sum.firstTokens,
    firstTokenMilliseconds: total.firstTokenMilliseconds + sum.firstTokenMilliseconds,
  };
}

/** In seconds; 0 if nothing was measured. */
function writeMean(milliseconds: number, count: number): number {
  return count === 0 ? 0 : Math.round(milliseconds / count) / 1000;
}

/** One request. Addresses of engines are for admins: they are those of the operator's network. */
export function writeRecord(record: UsageRecord, { showsAddress }: { readonly showsAddress: boolean }) {
  return {
    id: record.id,
    finished_at: writeTime(record.finishedAt),
    key: record.key,
    model: record.model,
    engine: record.engine,
    where: record.location,
    address: showsAddress ? (record.address ?? null) : null,
    input_tokens: record.inputTokens,
    cached_tokens: record.cachedTokens,
    output_tokens: record.outputTokens,
    queue_seconds: writeSeconds(record.queueMilliseconds),
    load_seconds: writeSeconds(record.loadMilliseconds),
    first_token_seconds: writeSeconds(record.firstTokenMilliseconds),
    total_seconds: writeSeconds(record.totalMilliseconds),
    stop_reason: record.stopReason ?? null,
    failure: record.failure ?? null,
  };
}

function writeSeconds(milliseconds: number | undefined): number | null {
  return milliseconds === undefined ? null : milliseconds / 1000;
}

function writeTime(time: number): string {
  return new Date(time).toISOString();
}

/** Spreadsheets run a cell that begins with one of these as a formula, also after blanks and in full width. */
const formulaStart = /^[\s\p{Cc}]*[=+\-@|%＝＋－＠]|^[\t\r\n]/u;

function writeCell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const text = formulaStart.test(value) ? `'${value}` : value;
  return /[",\r\n']/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
