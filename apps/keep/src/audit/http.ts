import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { KeepDependencies } from "../dependencies.ts";
import type { KeepRequest } from "../route-row.ts";
import { describeKeys, exportLog } from "./export-log.ts";
import { countByDay, listCheckpoints } from "./queries.ts";
import { findChain, readLog } from "./read-log.ts";

export function handleListAuditKeys(_request: KeepRequest, { serverKeys }: KeepDependencies): HttpResponse {
  return jsonResponse({ keys: describeKeys(serverKeys) });
}

type Paging = { readonly limit?: string; readonly before?: string; readonly type?: string };

function readPaging({ limit, before }: Paging): {
  readonly limit: number;
  readonly before: number | undefined;
} {
  return { limit: Number(limit ?? 50), before: before === undefined ? undefined : Number(before) };
}

export async function handleListAuditEvents(
  call: KeepRequest<unknown, Paging>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const place = await findChain(call.actor, call.parameters["vault"], database);
  const asked = { ...readPaging(call.query), type: call.query.type };
  const { items, nextBefore } = await readLog(place, asked, database);
  return jsonResponse({ items, ...(nextBefore === undefined ? {} : { next_before: nextBefore }) });
}

export async function handleListCheckpoints(
  call: KeepRequest<unknown, Paging>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const place = await findChain(call.actor, call.parameters["vault"], database);
  const { limit, before = Number.MAX_SAFE_INTEGER } = readPaging(call.query);
  const rows = await listCheckpoints(database, place, { before, limit });
  const items = rows.map((row) => ({ ...row, seq: Number(row.seq), at: row.at.toISOString() }));
  const last = items.length === limit ? items.at(-1) : undefined;
  return jsonResponse({ items, ...(last === undefined ? {} : { next_before: last.seq }) });
}

export async function handleCountDailyEvents(
  call: KeepRequest<unknown, { readonly days?: string }>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const place = await findChain(call.actor, call.parameters["vault"], database);
  const rows = await countByDay(database, place, Number(call.query.days ?? 30));
  const items = rows.map(({ day, read, changed, denied, signed_in }) => ({
    day,
    read: Number(read),
    changed: Number(changed),
    denied: Number(denied),
    signed_in: Number(signed_in),
  }));
  return jsonResponse({ items });
}

/** An export that fails on its way has no end line, which whoever verifies it is told. */
export async function handleExportAuditLog(
  call: KeepRequest,
  parts: KeepDependencies,
): Promise<HttpResponse> {
  const place = await findChain(call.actor, call.parameters["vault"], parts.database);
  return {
    status: 200,
    headers: { "content-type": "application/x-ndjson" },
    chunks: exportLog(place, parts),
    keepAliveChunk: "\n",
    formatError: () => "",
  };
}
