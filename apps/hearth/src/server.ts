import {
  type Answer,
  type CallHead,
  createHttpService,
  type HttpService,
  type Transport,
} from "@hearth-and-keep/http-service";
import type { Logger } from "@hearth-and-keep/logging";
import manifest from "../package.json" with { type: "json" };
import { type Access, admit, callerOf } from "./access/admit.ts";
import { answerPreflight, crossOriginHeaders } from "./access/cross-origin.ts";
import type { HearthParts } from "./dependencies.ts";
import { anthropicFamily } from "./dialects/anthropic/errors.ts";
import { ollamaFamily } from "./dialects/ollama/errors.ts";
import { openaiFamily } from "./dialects/openai/errors.ts";
import { asRequestFailure, isHangUp } from "./failures.ts";
import { type ApiDocuments, describeApi } from "./openapi/describe-api.ts";
import type { Family } from "./protocol.ts";
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
  "skippedBlocks",
  "droppedTools",
  "failure",
  "defect",
] as const;

export type HearthLogger = Logger<(typeof logFields)[number]>;

const mostBodyBytes = 64 * 1024 * 1024;

export type ServerParts = Omit<HearthParts, "documents"> & {
  readonly logger: HearthLogger;
  readonly access: Access;
  /** How requests come in, where it differs from plain HTTP without a proxy. */
  readonly transport?: Transport;
};

/** Hearth as a server: the table of routes, its failures in each family's words, one log line per request. */
export function createModelServer(parts: ServerParts): HttpService {
  const { logger, access, metrics } = parts;
  const hearthParts = { ...parts, documents: describeFamilies() };
  return createHttpService({
    routes: routes.map((row) => withParts(row, hearthParts)),
    mostBodyBytes,
    admit: (head) => admit(head, access),
    answerPreflight: (head) => answerPreflight(head, access),
    addHeaders: (head) => crossOriginHeaders(head, access),
    ...parts.transport,
    answerFailure: (problem, row, head) => {
      head.note({ failure: asRequestFailure(problem).kind });
      logDefect(logger, problem, head);
      return (row?.family ?? familyOf(head)).answerFailure(problem, head);
    },
    recordRequest: (record) => {
      metrics.countRequest(record);
      logger.info("Request answered", record);
    },
  });
}

type BoundRow = Omit<HearthRoute, "handle"> & {
  readonly handle: Parameters<typeof createHttpService>[0]["routes"][number]["handle"];
};

function withParts(row: HearthRoute, parts: HearthParts & Pick<ServerParts, "access" | "logger">): BoundRow {
  return {
    ...row,
    handle: async (call) => {
      const caller = callerOf(call, parts.access);
      call.note({ keyName: caller.keyName });
      return loggingDefects(
        await row.handle({ ...call, caller, countPiece: () => parts.metrics.countPiece() }, parts),
        call,
        parts.logger,
      );
    },
  };
}

/** What breaks after the first byte is told to the caller by the handler alone, and to us here. */
function loggingDefects(answer: Answer, head: CallHead, logger: HearthLogger): Answer {
  if (!("pieces" in answer)) return answer;
  return {
    ...answer,
    endFailed: (problem) => {
      logDefect(logger, problem, head);
      return answer.endFailed(problem);
    },
  };
}

function describeFamilies(): ApiDocuments {
  const families = [ollamaFamily, openaiFamily, anthropicFamily];
  return Object.fromEntries(families.map(({ name }) => [name, describeApi(routes, name, manifest.version)]));
}

/** Where a fault of ours happened. Its message is left out, because it may hold what a caller wrote. */
function logDefect(logger: HearthLogger, problem: unknown, { requestId }: CallHead): void {
  if (isHangUp(problem) || asRequestFailure(problem).kind !== "defect") return;
  const frames =
    problem instanceof Error ? (problem.stack ?? "").split("\n").filter((line) => /^\s+at /u.test(line)) : [];
  const name = problem instanceof Error ? problem.name : typeof problem;
  logger.error("Fault in the server", { requestId, defect: [name, ...frames.slice(0, 8)].join("\n") });
}

/** In whose words a path that does not exist is answered. */
function familyOf({ path }: CallHead): Family {
  if (path.startsWith("/alt/") || path.startsWith("/v1/messages")) return anthropicFamily;
  return path.startsWith("/v1/") ? openaiFamily : ollamaFamily;
}
