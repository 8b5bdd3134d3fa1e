import {
  createHttpService,
  type HttpService,
  NoSuchRoute,
  type WholeAnswer,
} from "@hearth-and-keep/http-service";
import type { Logger } from "@hearth-and-keep/logging";
import { type KeepParts, routes } from "./routes.ts";

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
] as const;

export type KeepLogger = Logger<(typeof logFields)[number]>;

const mostBodyBytes = 2 * 1024 * 1024;

/** Keep as a server: the table of routes, failures as problem documents, one log line per request. */
export function createVaultServer(parts: KeepParts & { readonly logger: KeepLogger }): HttpService {
  return createHttpService({
    routes: routes(parts),
    mostBodyBytes,
    answerFailure,
    recordRequest: (record) => parts.logger.info("Request answered", record),
  });
}

/** RFC 9457; the cause stays in our log. */
function answerFailure(problem: unknown): WholeAnswer {
  const [status, title] =
    problem instanceof NoSuchRoute ? [404, "No such resource"] : [500, "Internal error"];
  return {
    status,
    headers: { "content-type": "application/problem+json" },
    body: JSON.stringify({ type: "about:blank", title, status }),
  };
}
