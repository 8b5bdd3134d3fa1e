import {
  type Answer,
  type CallHead,
  createHttpService,
  type HttpService,
  type Route,
  type Transport,
} from "@hearth-and-keep/http-service";
import type { Logger } from "@hearth-and-keep/logging";
import manifest from "../package.json" with { type: "json" };
import { type AccessParts, admit } from "./access/authenticate.ts";
import { createDenialRecorder } from "./access/record-denials.ts";
import { type Actor, nameActor } from "./authorization/actor.ts";
import type { KeepParts } from "./dependencies.ts";
import { type ApiDocument, describeApi } from "./openapi/describe-api.ts";
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

export type ServerParts = Omit<KeepParts, "apiDocument"> & {
  readonly logger: KeepLogger;
  readonly access: AccessParts;
  /** How requests come in, where it differs from plain HTTP without a proxy. */
  readonly transport?: Transport;
};

/** Keep as a server: the table of routes, failures as problem documents, one log line per request. */
export function createVaultServer(parts: ServerParts): HttpService {
  const { logger, access, metrics } = parts;
  const headers = headersOfEveryAnswer(access.publicUrl);
  const callers = new WeakMap<CallHead, Actor>();
  const recordDenial = createDenialRecorder(parts.audit);
  const identified = (head: CallHead, actor: Actor): void => {
    callers.set(head, actor);
    head.note({ actor: nameActor(actor), account: actor.accountId });
  };
  return createHttpService({
    routes: routes.map((row) => withParts(row, { ...parts, apiDocument })),
    mostBodyBytes,
    admit: (head, row) => (row === undefined ? undefined : admitOne(head, row, { ...access, identified })),
    addHeaders: () => headers,
    ...parts.transport,
    answerFailure: (problem, row, head) => {
      const { kind } = asRequestFailure(problem);
      head.note({ failure: kind });
      logDefect(logger, problem, head);
      const actor = callers.get(head);
      if (actor !== undefined && row !== undefined) {
        recordDenial({ actor, route: `${row.method} ${row.path}`, kind });
      }
      return withHeaders(answerProblem(problem, head.requestId), access.limits.headersFor(head));
    },
    recordRequest: (record) => {
      metrics.countRequest(record);
      logger.info("Request answered", record);
    },
  });
}

let described: ApiDocument | undefined;

/** Made when somebody first asks: few ever do. */
function apiDocument(): ApiDocument {
  described ??= describeApi(routes, manifest.version);
  return described;
}

type Admission = { readonly actor: Actor | undefined; readonly headers: Readonly<Record<string, string>> };

async function admitOne(head: CallHead, row: AccessColumns, access: AccessParts): Promise<Admission> {
  const actor = await admit(head, row, access);
  return { actor, headers: access.limits.headersFor(head) };
}

function withHeaders<Given extends Answer>(answer: Given, headers: Readonly<Record<string, string>>): Given {
  return { ...answer, headers: { ...headers, ...answer.headers } };
}

type BoundRow = Route & AccessColumns;

function withParts(row: KeepRoute, parts: KeepParts): BoundRow {
  return {
    ...row,
    handle: async (call) => {
      // What `admitOne` gave for this row.
      const { actor, headers } = call.admission as Admission;
      // There is one for every row that is not public, and a public row's handler asks for none.
      return withHeaders(await row.handle(Object.assign(call, { actor: actor as Actor }), parts), headers);
    },
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
