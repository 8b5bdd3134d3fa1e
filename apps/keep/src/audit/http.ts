import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { KeepDependencies } from "../dependencies.ts";
import type { KeepRequest } from "../route-row.ts";
import { describeKeys, exportStream } from "./export/export-stream.ts";
import { countByDay, listStreamEnds } from "./queries.ts";
import { findStream, readLog } from "./read-log.ts";
import { type FilterQuery, toRecordFilter } from "./record-filter.ts";

export function handleListAuditKeys(_request: KeepRequest, { serverKeys }: KeepDependencies): HttpResponse {
  return jsonResponse({ keys: describeKeys(serverKeys) });
}

type PagingQuery = FilterQuery & { readonly limit?: string; readonly before?: string };

export async function handleListAuditEvents(
  request: KeepRequest<unknown, PagingQuery>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const streamRef = await findStream(request.actor, request.parameters["vault"], database);
  const { limit = "50", before, ...filter } = request.query;
  const page = {
    limit: Number(limit),
    before: before === undefined ? undefined : Number(before),
    filter: toRecordFilter(filter),
  };
  const { items, nextBefore } = await readLog(streamRef, page, database);
  return jsonResponse({ items, ...(nextBefore === undefined ? {} : { next_before: nextBefore }) });
}

export async function handleListCheckpoints(
  request: KeepRequest,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const streamRef = await findStream(request.actor, request.parameters["vault"], database);
  const items = (await listStreamEnds(database, streamRef)).map(
    ({ log_id, origin, size, checkpoint_at, note }) => ({
      log: log_id,
      origin,
      size: Number(size),
      at: checkpoint_at.toISOString(),
      note,
    }),
  );
  return jsonResponse({ items });
}

export async function handleCountDailyEvents(
  request: KeepRequest<unknown, { readonly days?: string }>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const streamRef = await findStream(request.actor, request.parameters["vault"], database);
  const rows = await countByDay(database, streamRef, Number(request.query.days ?? 30));
  const items = rows.map(({ day, read, changed, denied, signed_in }) => ({
    day,
    read: Number(read),
    changed: Number(changed),
    denied: Number(denied),
    signed_in: Number(signed_in),
  }));
  return jsonResponse({ items });
}

/** With the latest records of this node. An export that fails midway has no end line, which verification reports. */
export async function handleExportAuditLog(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const streamRef = await findStream(request.actor, request.parameters["vault"], dependencies.database);
  await dependencies.nodeLog.append();
  return {
    status: 200,
    headers: { "content-type": "application/x-ndjson" },
    chunks: exportStream(streamRef, dependencies),
    keepAliveChunk: "\n",
    formatError: () => "",
  };
}
