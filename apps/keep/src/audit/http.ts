import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import {
  auditKeys,
  auditPage,
  auditQuery,
  checkpointPage,
  checkpointQuery,
  dailyCounts,
  dailyQuery,
} from "@hearth-and-keep/vault-contract";
import type { KeepParts } from "../dependencies.ts";
import { type KeepCall, type KeepRoute, takes } from "../route-row.ts";
import { describeKeys, exportLog } from "./export-log.ts";
import { countByDay, listCheckpoints } from "./queries.ts";
import { findChain, readLog } from "./read-log.ts";

const mayRead = { access: "actor", scope: "audit:read" } as const;

/** A vault's log and the account's own: the same rows twice. */
// biome-ignore format: a table is read down its columns
export const auditRoutes: readonly KeepRoute[] = [
  { method: "GET", path: "/api/secrets/vaults/:vault/audit", ...mayRead, summary: "What happened in a vault, the newest first", answers: { 200: { json: auditPage } }, ...takes({ query: auditQuery }, answerLog) },
  { method: "GET", path: "/api/secrets/vaults/:vault/audit/export", ...mayRead, summary: "A vault's whole log, to verify without this server", answers: { 200: { type: "application/x-ndjson" } }, handle: answerExport },
  { method: "GET", path: "/api/secrets/vaults/:vault/audit/checkpoints", ...mayRead, summary: "Signed checkpoints of a vault's log", answers: { 200: { json: checkpointPage } }, ...takes({ query: checkpointQuery }, answerCheckpoints) },
  { method: "GET", path: "/api/secrets/vaults/:vault/audit/daily", ...mayRead, summary: "How much happened in a vault each day", answers: { 200: { json: dailyCounts } }, ...takes({ query: dailyQuery }, answerDaily) },
  { method: "GET", path: "/api/secrets/audit", ...mayRead, summary: "What happened in the account outside of vaults, the newest first", answers: { 200: { json: auditPage } }, ...takes({ query: auditQuery }, answerLog) },
  { method: "GET", path: "/api/secrets/audit/export", ...mayRead, summary: "The account's own log, to verify without this server", answers: { 200: { type: "application/x-ndjson" } }, handle: answerExport },
  { method: "GET", path: "/api/secrets/audit/checkpoints", ...mayRead, summary: "Signed checkpoints of the account's own log", answers: { 200: { json: checkpointPage } }, ...takes({ query: checkpointQuery }, answerCheckpoints) },
  { method: "GET", path: "/api/secrets/audit/daily", ...mayRead, summary: "How much happened in the account each day", answers: { 200: { json: dailyCounts } }, ...takes({ query: dailyQuery }, answerDaily) },
  { method: "GET", path: "/api/secrets/audit/keys", ...mayRead, summary: "The public keys that checkpoints are signed with", answers: { 200: { json: auditKeys } }, handle: (_call, { serverKeys }) => jsonAnswer({ keys: describeKeys(serverKeys) }) },
];

type Paging = { readonly limit?: string; readonly before?: string; readonly type?: string };

function readPaging({ limit, before }: Paging): {
  readonly limit: number;
  readonly before: number | undefined;
} {
  return { limit: Number(limit ?? 50), before: before === undefined ? undefined : Number(before) };
}

async function answerLog(call: KeepCall<unknown, Paging>, { database }: KeepParts): Promise<Answer> {
  const place = await findChain(call.actor, call.parameters["vault"], database);
  const asked = { ...readPaging(call.query), type: call.query.type };
  const { items, nextBefore } = await readLog(place, asked, database);
  return jsonAnswer({ items, ...(nextBefore === undefined ? {} : { next_before: nextBefore }) });
}

async function answerCheckpoints(call: KeepCall<unknown, Paging>, { database }: KeepParts): Promise<Answer> {
  const place = await findChain(call.actor, call.parameters["vault"], database);
  const { limit, before = Number.MAX_SAFE_INTEGER } = readPaging(call.query);
  const rows = await listCheckpoints(database, place, { before, limit });
  const items = rows.map((row) => ({ ...row, seq: Number(row.seq), at: row.at.toISOString() }));
  const last = items.length === limit ? items.at(-1) : undefined;
  return jsonAnswer({ items, ...(last === undefined ? {} : { next_before: last.seq }) });
}

async function answerDaily(
  call: KeepCall<unknown, { readonly days?: string }>,
  { database }: KeepParts,
): Promise<Answer> {
  const place = await findChain(call.actor, call.parameters["vault"], database);
  const rows = await countByDay(database, place, Number(call.query.days ?? 30));
  const items = rows.map(({ day, read, changed, denied, signed_in }) => ({
    day,
    read: Number(read),
    changed: Number(changed),
    denied: Number(denied),
    signed_in: Number(signed_in),
  }));
  return jsonAnswer({ items });
}

/** An export that fails on its way has no end line, which whoever verifies it is told. */
async function answerExport(call: KeepCall, parts: KeepParts): Promise<Answer> {
  const place = await findChain(call.actor, call.parameters["vault"], parts.database);
  return {
    status: 200,
    headers: { "content-type": "application/x-ndjson" },
    pieces: exportLog(place, parts),
    filler: "\n",
    endFailed: () => "",
  };
}
