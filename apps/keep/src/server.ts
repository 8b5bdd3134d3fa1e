import {
  type CallHead,
  createHttpService,
  type HttpService,
  type Route,
  type Transport,
} from "@hearth-and-keep/http-service";
import type { Logger } from "@hearth-and-keep/logging";
import { type AccessParts, admit } from "./access/authenticate.ts";
import type { Actor } from "./authorization/actor.ts";
import type { KeepParts } from "./parts.ts";
import { answerProblem, asRequestFailure } from "./problems.ts";
import type { AccessColumns, KeepRoute } from "./route-row.ts";
import { routes } from "./routes.ts";

/** The only fields a log line of Keep may carry. */
export const logFields = [
  "requestId",
  "route",
  "status",
  "durationMilliseconds",
  "url",
  "applied",
  "schemaNumber",
  "fingerprint",
  "actor",
  "account",
  "failure",
  "defect",
] as const;

export type KeepLogger = Logger<(typeof logFields)[number]>;

const mostBodyBytes = 2 * 1024 * 1024;

export type ServerParts = KeepParts & {
  readonly logger: KeepLogger;
  readonly access: AccessParts;
  /** How requests come in, where it differs from plain HTTP without a proxy. */
  readonly transport?: Transport;
};

/** Keep as a server: the table of routes, failures as problem documents, one log line per request. */
export function createVaultServer(parts: ServerParts): HttpService {
  const { logger, access } = parts;
  const headers = headersOfEveryAnswer(access.publicUrl);
  return createHttpService({
    routes: routes.map((row) => withParts(row, parts)),
    mostBodyBytes,
    admit: (head, row) => (row === undefined ? undefined : admitAndNote(head, row, access)),
    addHeaders: () => headers,
    ...parts.transport,
    answerFailure: (problem, _row, head) => {
      head.note({ failure: asRequestFailure(problem).kind });
      logDefect(logger, problem, head);
      return answerProblem(problem, head.requestId);
    },
    recordRequest: (record) => logger.info("Request answered", record),
  });
}

async function admitAndNote(
  head: CallHead,
  row: AccessColumns,
  access: AccessParts,
): Promise<Actor | undefined> {
  const actor = await admit(head, row, access);
  if (actor !== undefined) head.note({ actor: `${actor.kind}:${actor.id}`, account: actor.accountId });
  return actor;
}

type BoundRow = Route & AccessColumns;

function withParts(row: KeepRoute, parts: KeepParts): BoundRow {
  return {
    ...row,
    handle: ({ admission, ...call }) =>
      // What `admit` gave for this row; a public row's handler asks for none.
      row.handle({ ...call, actor: admission as Actor }, parts),
  };
}

/** Nothing of ours is cached by others, framed, sniffed, or allowed to load anything; pages say what they need. */
function headersOfEveryAnswer(publicUrl: URL): Readonly<Record<string, string>> {
  return {
    "cache-control": "no-store",
    "content-security-policy":
      "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    ...(publicUrl.protocol === "https:" ? { "strict-transport-security": "max-age=63072000" } : {}),
  };
}

/** Where a fault of ours happened. Its message is left out, because it may hold what a caller wrote. */
function logDefect(logger: KeepLogger, problem: unknown, { requestId }: CallHead): void {
  const { kind } = asRequestFailure(problem);
  if (kind === "integrity-broken") logger.error("A stored row is not what was stored", { requestId });
  if (kind !== "defect") return;
  const frames =
    problem instanceof Error ? (problem.stack ?? "").split("\n").filter((line) => /^\s+at /u.test(line)) : [];
  const name = problem instanceof Error ? problem.name : typeof problem;
  const code = problem instanceof Error && "code" in problem ? ` ${String(problem.code)}` : "";
  logger.error("Fault in the server", { requestId, defect: [name + code, ...frames.slice(0, 8)].join("\n") });
}
