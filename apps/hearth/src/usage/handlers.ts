import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import { type Static, Type } from "typebox";
import type { Actor } from "../access/authenticate.ts";
import type { HearthDependencies, HearthRequest } from "../dependencies.ts";
import { invalidField } from "../failures.ts";
import type { UsageKey, UsageSum } from "../key-store/usage-ledger.ts";
import { bucketMilliseconds, InvalidRangeError, readRange, type UsageRange } from "./read-range.ts";
import { writeRecord, writeUsage, writeUsageCsv } from "./write-usage.ts";

const time = Type.String({ maxLength: 40 });

/** The query of the sums; parameters that are not listed are allowed, ignored and named in the response. */
export const usageQuery = Type.Object({
  from: Type.Optional(time),
  to: Type.Optional(time),
  bucket: Type.Optional(Type.Enum(["hour", "day"])),
  format: Type.Optional(Type.Enum(["json", "csv"])),
});

/** Databases refuse some control characters, and no name has any. */
const name = Type.String({ maxLength: 1024, pattern: "^[^\\u0000-\\u001f]*$" });

/** The query of single requests. */
export const usageRequestsQuery = Type.Object({
  key: Type.Optional(name),
  model: Type.Optional(name),
  limit: Type.Optional(Type.String({ pattern: "^(?:[1-9]\\d{0,2}|1000)$", maxLength: 4 })),
  before: Type.Optional(Type.String({ pattern: "^[1-9]\\d{0,14}$", maxLength: 15 })),
});

type QueryRequest<Query> = Pick<HearthRequest, "actor" | "headers"> & { readonly query: Query };

export const maxUsageRows = 10_000;
const defaultLimit = 100;

/** `GET /api/usage`, Hearth's own: sums of the ledger for each hour or day, key, model and place. */
export async function handleUsage(
  { actor, headers, query }: QueryRequest<Static<typeof usageQuery>>,
  { ledger }: HearthDependencies,
): Promise<HttpResponse> {
  const range = rangeOf(query);
  const sums = await readSums(range, actor, ledger);
  if (!wantsCsv(query.format, headers)) return jsonResponse(writeUsage(range, sums));
  return {
    status: 200,
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": 'attachment; filename="usage.csv"',
      "x-content-type-options": "nosniff",
    },
    body: writeUsageCsv(sums ?? []),
  };
}

async function readSums(
  { from, to, bucket }: UsageRange,
  actor: Actor,
  ledger: HearthDependencies["ledger"],
): Promise<readonly UsageSum[] | undefined> {
  const sums = await ledger?.sumUsage({
    from,
    to,
    bucketMilliseconds: bucketMilliseconds[bucket],
    own: ownKey(actor),
    limit: maxUsageRows + 1,
  });
  if ((sums?.length ?? 0) <= maxUsageRows) return sums;
  throw invalidField(
    "from",
    `selects more than ${maxUsageRows} rows; choose a shorter range or longer buckets`,
  );
}

/** `GET /api/usage/requests`: the rows of the ledger, newest first. `next` is `before` of the next page. */
export async function handleUsageRequests(
  { actor, query }: QueryRequest<Static<typeof usageRequestsQuery>>,
  { ledger }: HearthDependencies,
): Promise<HttpResponse> {
  if (ledger === undefined) return jsonResponse({ ledger: "off", requests: [], next: null });
  const limit = Number(query.limit ?? defaultLimit);
  const records = await ledger.listUsage({
    own: ownKey(actor),
    keyName: query.key,
    model: query.model,
    before: query.before === undefined ? undefined : Number(query.before),
    limit: limit + 1,
  });
  const page = records.slice(0, limit);
  const showsAddress = actor.role === "admin";
  return jsonResponse({
    ledger: "on",
    requests: page.map((record) => writeRecord(record, { showsAddress })),
    next: records.length > limit ? String(page.at(-1)?.id) : null,
  });
}

/** Undefined for an admin, who sees the rows of all keys. */
function ownKey({ role, keyId, keyName }: Actor): UsageKey | undefined {
  return role === "admin" ? undefined : { id: keyId, name: keyName };
}

function rangeOf(query: Static<typeof usageQuery>): UsageRange {
  try {
    return readRange(query, Date.now());
  } catch (error) {
    throw error instanceof InvalidRangeError ? invalidField(error.field, error.message) : error;
  }
}

function wantsCsv(format: "json" | "csv" | undefined, headers: HearthRequest["headers"]): boolean {
  return format === undefined ? /\btext\/csv\b/iu.test(String(headers["accept"] ?? "")) : format === "csv";
}
