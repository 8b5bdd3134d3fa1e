import type { KeyedEntry, UsageEntry, UsageLocation, UsageRecord, UsageSum } from "./usage-ledger.ts";

/** Both databases return rows with these columns; PostgreSQL's driver returns 64-bit integers as text. */
export type UsageRow = Readonly<Record<string, unknown>>;

/** In the order in which `valuesOfEntry` lists them. */
export const entryColumns = [
  "model",
  "engine",
  "location",
  "address",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "queue_milliseconds",
  "load_milliseconds",
  "first_token_milliseconds",
  "total_milliseconds",
  "stop_reason",
  "failure",
] as const;

export function valuesOfEntry(entry: UsageEntry): readonly (string | number | null)[] {
  return [
    entry.model,
    entry.engine,
    entry.location,
    entry.address ?? null,
    entry.inputTokens,
    entry.cachedTokens,
    entry.outputTokens,
    entry.queueMilliseconds ?? null,
    entry.loadMilliseconds ?? null,
    entry.firstTokenMilliseconds ?? null,
    entry.totalMilliseconds,
    entry.stopReason ?? null,
    entry.failure ?? null,
  ];
}

export const recordColumns: string = ["id", "finished_at", "key_name", ...entryColumns].join(", ");

const sumColumns = [
  "requests",
  "failed",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "queued",
  "queue_milliseconds",
  "first_tokens",
  "first_token_milliseconds",
] as const;

export const sumsOfColumns: string = sumColumns.map((column) => `sum(${column}) AS ${column}`).join(", ");

export function readRecord(row: UsageRow): UsageRecord {
  return {
    id: Number(row["id"]),
    finishedAt: Number(row["finished_at"]),
    key: String(row["key_name"]),
    model: String(row["model"]),
    engine: String(row["engine"]),
    location: readLocation(row["location"]),
    address: toText(row["address"]),
    inputTokens: Number(row["input_tokens"]),
    cachedTokens: Number(row["cached_tokens"]),
    outputTokens: Number(row["output_tokens"]),
    queueMilliseconds: toNumber(row["queue_milliseconds"]),
    loadMilliseconds: toNumber(row["load_milliseconds"]),
    firstTokenMilliseconds: toNumber(row["first_token_milliseconds"]),
    totalMilliseconds: Number(row["total_milliseconds"]),
    stopReason: toText(row["stop_reason"]),
    failure: toText(row["failure"]),
  };
}

export function readSum(row: UsageRow): UsageSum {
  return {
    start: Number(row["start"]),
    key: String(row["key_name"]),
    model: String(row["model"]),
    location: readLocation(row["location"]),
    requests: Number(row["requests"]),
    failed: Number(row["failed"]),
    inputTokens: Number(row["input_tokens"]),
    cachedTokens: Number(row["cached_tokens"]),
    outputTokens: Number(row["output_tokens"]),
    queued: Number(row["queued"]),
    queueMilliseconds: Number(row["queue_milliseconds"]),
    firstTokens: Number(row["first_tokens"]),
    firstTokenMilliseconds: Number(row["first_token_milliseconds"]),
  };
}

function readLocation(value: unknown): UsageLocation {
  return value === "local" || value === "pool" || value === "remote" ? value : "";
}

function toText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function toNumber(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}

/** In the order of locks, so that two nodes that write rows of the same keys never wait for each other. */
export function sortByKey(entries: readonly KeyedEntry[]): readonly KeyedEntry[] {
  return entries
    .map((each) => {
      const { key, entry } = each;
      return { each, order: [key.id ?? "", key.name, entry.model, entry.location].join("\n") };
    })
    .toSorted((one, other) => Number(one.order > other.order) - Number(one.order < other.order))
    .map(({ each }) => each);
}
