import {
  createHttpService,
  type HttpService,
  logDefect,
  type RequestHead,
  requestLogFields,
  type Transport,
} from "@hearth-and-keep/http-service";
import type { Logger } from "@hearth-and-keep/logging";
import manifest from "../package.json" with { type: "json" };
import { type Access, type Actor, authenticate } from "./access/authenticate.ts";
import { crossOriginHeaders, handlePreflight } from "./access/cross-origin.ts";
import type { HearthDependencies } from "./dependencies.ts";
import { anthropicProtocol } from "./dialects/anthropic/errors.ts";
import { ollamaProtocol } from "./dialects/ollama/errors.ts";
import { openaiProtocol } from "./dialects/openai/errors.ts";
import { createReasoningSeal } from "./dialects/openai/responses/reasoning-seal.ts";
import { isClientDisconnect, toRequestFailure } from "./failures.ts";
import { reportIgnoredFields } from "./ignored-fields.ts";
import { createOpenApiDocument, type OpenApiDocuments } from "./openapi/create-document.ts";
import type { Protocol } from "./protocol.ts";
import { type HearthRoute, maxBodyBytesWithImages, routes } from "./routes.ts";

/** Fields that Hearth may log. */
export const logFields = [
  ...requestLogFields,
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
  "ignoredFields",
  "ignoredKeywords",
  "file",
] as const;

export type HearthLogger = Logger<(typeof logFields)[number]>;

const maxBodyBytes = 4 * 1024 * 1024;
/** Eight of the largest bodies. */
const maxBytesInFlight = 8 * maxBodyBytesWithImages;

export type ServerDependencies = Omit<HearthDependencies, "documents" | "reasoningSeal"> & {
  readonly logger: HearthLogger;
  readonly access: Access;
  /** Plain HTTP without a proxy by default. */
  readonly transport?: Transport;
};

/** Hearth as an HTTP server: the route table with authentication, error mapping, logs and metrics. */
export function createModelServer({ transport, ...dependencies }: ServerDependencies): HttpService {
  const { logger, access, metrics } = dependencies;
  return createHttpService<HearthRoute, Actor, HearthDependencies>({
    routes: routes.map(reportIgnoredFields),
    dependencies: { ...dependencies, documents: createDocuments(), reasoningSeal: createReasoningSeal() },
    maxBodyBytes,
    maxBytesInFlight,
    // Codex compresses with zstd, proxies and older clients with gzip.
    contentEncodings: ["gzip", "zstd"],
    // People pause a program that streams, for example in a debugger.
    unreadMilliseconds: 300_000,
    authenticate: (head, row) => authenticate(head, access, row?.role),
    handlePreflight: (head) => handlePreflight(head, access),
    addHeaders: (head) => crossOriginHeaders(head, access),
    ...transport,
    toErrorResponse: (error, row, head) => {
      head.addLogFields({ failure: toRequestFailure(error).kind });
      return (row?.protocol ?? protocolOf(head)).errorResponse(error, head);
    },
    onError: (error, head) => {
      if (isClientDisconnect(error) || toRequestFailure(error).kind !== "internal-error") return;
      logDefect(logger, error, head);
    },
    recordRequest: (record) => {
      metrics.countRequest(record);
      logger.info("Request completed", record);
    },
  });
}

function createDocuments(): OpenApiDocuments {
  const protocols = [ollamaProtocol, openaiProtocol, anthropicProtocol];
  return Object.fromEntries(
    protocols.map(({ name }) => [name, createOpenApiDocument(routes, name, manifest.version)]),
  );
}

/** The protocol for errors on unknown paths. */
function protocolOf({ path, headers }: RequestHead): Protocol {
  if (path.startsWith("/alt/") || path.startsWith("/v1/messages")) return anthropicProtocol;
  if (!path.startsWith("/v1/")) return ollamaProtocol;
  return headers["anthropic-version"] === undefined ? openaiProtocol : anthropicProtocol;
}
