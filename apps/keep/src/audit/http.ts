import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { KeepDependencies } from "../dependencies.ts";
import type { KeepRequest } from "../route-row.ts";
import { describeKeys, exportLog } from "./export-log.ts";
import { countByDay, listCheckpoints } from "./queries.ts";
import { findChain, readLog } from "./read-log.ts";

export function handleListAuditKeys(_request: KeepRequest, { serverKeys }: KeepDependencies): HttpResponse {
  return jsonResponse({ keys: describeKeys(serverKeys) });
}

type PagingQuery = { readonly limit?: string; readonly before?: string; readonly type?: string };

function readPaging({ limit, before }: PagingQuery): {
  readonly limit: number;
  readonly before: number | undefined;
} {
  return { limit: Number(limit ?? 50), before: before === undefined ? undefined : Number(before) };
}

export async function handleListAuditEvents(
  request: KeepRequest<unknown, PagingQuery>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const chainRef = await findChain(request.actor, request.parameters["vault"], database);
  const page = { ...readPaging(request.query), type: request.query.type };
  const { items, nextBefore } = await readLog(chainRef, page, database);
  return jsonResponse({ items, ...(nextBefore === undefined ? {} : { next_before: nextBefore }) });
}

export async function handleListCheckpoints(
  request: KeepRequest<unknown, PagingQuery>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const chainRef = await findChain(request.actor, request.parameters["vault"], database);
  const { limit, before = Number.MAX_SAFE_INTEGER } = readPaging(request.query);
  const rows = await listCheckpoints(database, chainRef, { before, limit });
  const items = rows.map((row) => ({ ...row, seq: Number(row.seq), at: row.at.toISOString() }));
  const last = items.length === limit ? items.at(-1) : undefined;
  return jsonResponse({ items, ...(last === undefined ? {} : { next_before: last.seq }) });
}

export async function handleCountDailyEvents(
  request: KeepRequest<unknown, { readonly days?: string }>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const chainRef = await findChain(request.actor, request.parameters["vault"], database);
  const rows = await countByDay(database, chainRef, Number(request.query.days ?? 30));
  const items = rows.map(({ day, read, changed, denied, signed_in }) => ({
    day,
    read: Number(read),
    changed: Number(changed),
    denied: Number(denied),
    signed_in: Number(signed_in),
  }));
  return jsonResponse({ items });
}

/** An export that fails midway has no end line, which verification reports. */
export async function handleExportAuditLog(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const chainRef = await findChain(request.actor, request.parameters["vault"], dependencies.database);
  return {
    status: 200,
    headers: { "content-type": "application/x-ndjson" },
    chunks: exportLog(chainRef, dependencies),
    keepAliveChunk: "\n",
    formatError: () => "",
  };
}
