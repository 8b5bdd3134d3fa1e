import { type CallHead, createHttpService, type HttpService } from "@hearth-and-keep/http-service";
import type { Logger } from "@hearth-and-keep/logging";
import { type Access, admit, callerOf } from "./access/admit.ts";
import { anthropicFamily } from "./dialects/anthropic/errors.ts";
import type { Family } from "./dialects/family.ts";
import { ollamaFamily } from "./dialects/ollama/errors.ts";
import { openaiFamily } from "./dialects/openai/errors.ts";
import type { HearthParts } from "./parts.ts";
import type { HearthRoute } from "./route-row.ts";
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
  "keyName",
  "model",
  "promptTokens",
  "cachedTokens",
  "outputTokens",
  "queueMilliseconds",
  "loadMilliseconds",
  "firstTokenMilliseconds",
  "tokensPerSecond",
  "stopReason",
  "droppedMessages",
  "failure",
] as const;

export type HearthLogger = Logger<(typeof logFields)[number]>;

const mostBodyBytes = 64 * 1024 * 1024;

export type ServerParts = HearthParts & { readonly logger: HearthLogger; readonly access: Access };

/** Hearth as a server: the table of routes, its failures in each family's words, one log line per request. */
export function createModelServer(parts: ServerParts): HttpService {
  const { logger, access } = parts;
  return createHttpService({
    routes: routes.map((row) => withParts(row, parts)),
    mostBodyBytes,
    admit: (head) => admit(head, access),
    answerFailure: (problem, row, head) => (row?.family ?? familyOf(head)).answerFailure(problem, head),
    recordRequest: (record) => logger.info("Request answered", record),
  });
}

type BoundRow = Omit<HearthRoute, "handle"> & {
  readonly handle: Parameters<typeof createHttpService>[0]["routes"][number]["handle"];
};

function withParts(row: HearthRoute, parts: ServerParts): BoundRow {
  return {
    ...row,
    handle: (call) => {
      const caller = callerOf(call, parts.access);
      call.note({ keyName: caller.keyName });
      return row.handle({ ...call, caller }, parts);
    },
  };
}

/** In whose words a path that does not exist is answered. */
function familyOf({ path }: CallHead): Family {
  if (path.startsWith("/alt/")) return anthropicFamily;
  return path.startsWith("/v1/") ? openaiFamily : ollamaFamily;
}
