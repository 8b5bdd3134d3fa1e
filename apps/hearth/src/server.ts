import { createHttpService, type HttpService } from "@hearth-and-keep/http-service";
import type { Logger } from "@hearth-and-keep/logging";
import { answerOllamaFailure } from "./dialects/ollama/errors.ts";
import { routes } from "./routes.ts";

/** The only fields a log line of Hearth may carry. */
export const logFields = [
  "requestId",
  "route",
  "status",
  "durationMilliseconds",
  "url",
  "signal",
  "protection",
] as const;

export type HearthLogger = Logger<(typeof logFields)[number]>;

const mostBodyBytes = 64 * 1024 * 1024;

/** Hearth as a server: the table of routes, its failures in each family's words, one log line per request. */
export function createModelServer(parts: { readonly logger: HearthLogger }): HttpService {
  return createHttpService({
    routes,
    mostBodyBytes,
    answerFailure: answerOllamaFailure,
    recordRequest: (record) => parts.logger.info("Request answered", record),
  });
}
