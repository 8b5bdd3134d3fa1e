import { renderTable, screen } from "@hearth-and-keep/terminal";
import type { KeyStore } from "../key-store/key-store.ts";
import type { UsageKey, UsageSum } from "../key-store/usage-ledger.ts";
import { callFailure } from "../server-client/call-failure.ts";
import {
  type Bucket,
  bucketMilliseconds,
  InvalidRangeError,
  readRange,
  type UsageRange,
} from "../usage/read-range.ts";
import { writeUsage, writeUsageCsv } from "../usage/write-usage.ts";

export type UsageFlags = {
  readonly from?: string;
  readonly to?: string;
  readonly bucket?: string;
  readonly csv?: boolean;
  readonly json?: boolean;
};

/** More than a terminal shows, and less than memory holds. */
const maxRows = 1_000_000;

/** Whether flags ask for finished requests rather than for what is used now. */
export function wantsLedger({ from, to, bucket, csv }: UsageFlags): boolean {
  return from !== undefined || to !== undefined || bucket !== undefined || csv === true;
}

export async function showLedger(
  store: KeyStore,
  name: string | undefined,
  flags: UsageFlags,
): Promise<void> {
  const range = readFlags(flags);
  const own = name === undefined ? undefined : await findKey(store, name);
  const { from, to, bucket } = range;
  const query = { from, to, bucketMilliseconds: bucketMilliseconds[bucket], own, limit: maxRows };
  const sums = await store.sumUsage(query);
  if (flags.csv === true) return screen.write(writeUsageCsv(sums));
  if (flags.json === true) return screen.writeLine(JSON.stringify(writeUsage(range, sums), null, 2));
  printTable(range, sums);
}

function readFlags({ from, to, bucket = "day" }: UsageFlags): UsageRange {
  if (!isBucket(bucket)) throw invalid("--bucket", bucket, "use hour or day");
  try {
    return readRange({ from, to, bucket }, Date.now());
  } catch (error) {
    if (!(error instanceof InvalidRangeError)) throw error;
    throw invalid(`--${error.field}`, (error.field === "from" ? from : to) ?? "", error.message);
  }
}

function isBucket(text: string): text is Bucket {
  return text === "hour" || text === "day";
}

/** A key that is not in the database may be one of a flag or a file. */
async function findKey(store: KeyStore, name: string): Promise<UsageKey> {
  const key = (await store.list()).find((each) => each.name === name || each.id === name);
  return key === undefined ? { name } : { id: key.id, name: key.name };
}

const headers = ["START", "KEY", "MODEL", "WHERE", "REQUESTS", "FAILED", "INPUT", "CACHED", "OUTPUT"];

function printTable({ bucket }: UsageRange, sums: readonly UsageSum[]): void {
  if (sums.length === 0) return screen.writeLine("No requests have ended in this time.");
  const digits = bucket === "day" ? "2026-01-31".length : "2026-01-31T12:00".length;
  const rows = sums.map((sum) => [
    new Date(sum.start).toISOString().slice(0, digits),
    sum.key,
    sum.model,
    sum.location,
    ...[sum.requests, sum.failed, sum.inputTokens, sum.cachedTokens, sum.outputTokens].map(String),
  ]);
  for (const line of renderTable(headers, rows, { screen, dropOrder: [] })) screen.writeLine(line);
}

function invalid(flag: string, text: string, reason: string): Error {
  return callFailure({ kind: "usage-error", message: `Invalid ${flag} "${text.slice(0, 100)}": ${reason}` });
}
