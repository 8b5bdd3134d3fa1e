import {
  createHttpService,
  type HttpService,
  logDefect,
  type RequestHead,
  type RequestRecord,
  requestLogFields,
  type Transport,
} from "@hearth-and-keep/http-service";
import type { Logger } from "@hearth-and-keep/logging";
import manifest from "../package.json" with { type: "json" };
import { type Access, type Actor, authenticate } from "./access/authenticate.ts";
import { crossOriginHeaders, handlePreflight } from "./access/cross-origin.ts";
import { createBatches } from "./batches/batches.ts";
import { createRouteCaller } from "./batches/call-route.ts";
import type { BatchLimits } from "./batches/limits.ts";
import type { HearthDependencies } from "./dependencies.ts";
import { anthropicProtocol } from "./dialects/anthropic/errors.ts";
import { ollamaProtocol } from "./dialects/ollama/errors.ts";
import { openaiProtocol } from "./dialects/openai/errors.ts";
import { createReasoningSeal } from "./dialects/openai/responses/reasoning-seal.ts";
import { isClientDisconnect, toRequestFailure } from "./failures.ts";
import { reportIgnoredFields } from "./ignored-fields.ts";
import { createOpenApiDocument, type OpenApiDocuments } from "./openapi/create-document.ts";
import type { Protocol } from "./protocol.ts";
import { reportPosition } from "./queue-notices.ts";
import { type HearthRoute, maxBodyBytesWithImages, routes } from "./routes.ts";
import type { LoadRequest } from "./scheduling/load-request.ts";
import { bindRequests } from "./scheduling/scheduler.ts";
import type { Tracing } from "./tracing/open-tracing.ts";

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
  "guessedTokens",
  "acceptedTokens",
  "queueMilliseconds",
  "loadMilliseconds",
  "firstTokenMilliseconds",
  "tokensPerSecond",
  "stopReason",
  "runsOn",
  "traceId",
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

/** What the server creates itself. */
type OwnDependencies = Pick<
  HearthDependencies,
  "documents" | "reasoningSeal" | "batches" | "messageBatches" | "openaiBatches" | "files"
>;

export type ServerDependencies = Omit<HearthDependencies, keyof OwnDependencies> & {
  readonly logger: HearthLogger;
  readonly access: Access;
  readonly batchLimits?: Partial<BatchLimits>;
  /** Checks what stored keys may do before a route handles their requests. */
  readonly guardRoute?: (row: HearthRoute) => HearthRoute;
  /** Absent unless an endpoint for traces is configured. */
  readonly tracing?: Tracing;
  /** Plain HTTP without a proxy by default. */
  readonly transport?: Transport;
};

/** Hearth as an HTTP server: the route table with authentication, error mapping, logs and metrics. */
export function createModelServer({ transport, guardRoute, ...options }: ServerDependencies): HttpService {
  const { logger, access, metrics, responses, tracing } = options;
  const unguarded = routes.map(reportIgnoredFields).map(takeTurnsByKey);
  const rows = guardRoute === undefined ? unguarded : unguarded.map(guardRoute);
  const onError = (error: unknown, head: RequestHead): void => {
    if (isClientDisconnect(error) || toRequestFailure(error).kind !== "internal-error") return;
    logDefect(logger, error, head);
  };
  const recordRequest = (record: RequestRecord): void => {
    metrics.countRequest(record);
    logger.info("Request completed", { ...record, ...tracing?.recordRequest(record) });
  };
  const batches = createBatches((call, signal) => callRoute(call, signal), options.batchLimits);
  const { maxBatches, maxFiles } = batches.limits;
  const dependencies: HearthDependencies = {
    ...options,
    documents: createDocuments(),
    reasoningSeal: createReasoningSeal(responses?.sealKey),
    batches,
    messageBatches: batches.createStore({ maxItems: maxBatches, plural: "batches" }),
    openaiBatches: batches.createStore({ maxItems: maxBatches, plural: "batches" }),
    files: batches.createStore({ maxItems: maxBatches === 0 ? 0 : maxFiles, plural: "files" }),
  };
  const callRoute = createRouteCaller({ routes: rows, dependencies, onError, recordRequest });
  const service = createHttpService<HearthRoute, Actor, HearthDependencies>({
    routes: rows,
    dependencies,
    maxBodyBytes,
    maxBytesInFlight,
    // Codex compresses with zstd, proxies and older clients with gzip.
    contentEncodings: ["gzip", "zstd"],
    // People pause a program that streams, for example in a debugger.
    unreadMilliseconds: 300_000,
    authenticate: (head, row) => {
      tracing?.continueTrace(head);
      return authenticate(head, access, row?.role);
    },
    handlePreflight: (head) => handlePreflight(head, access),
    addHeaders: (head) => crossOriginHeaders(head, access),
    ...transport,
    toErrorResponse: (error, row, head) => {
      head.addLogFields({ failure: toRequestFailure(error).kind });
      return (row?.protocol ?? protocolOf(head)).errorResponse(error, head);
    },
    onError,
    recordRequest,
  });
  return {
    ...service,
    close: (graceSeconds) => {
      batches.close();
      return service.close(graceSeconds);
    },
  };
}

/** The same route, whose requests to models take turns with those of other keys. */
function takeTurnsByKey(row: HearthRoute): HearthRoute {
  const { handle } = row;
  return {
    ...row,
    handle: (request, dependencies) => {
      const { keyName, keyId = keyName, priority = 0 } = request.actor;
      const onQueued: LoadRequest["onQueued"] = (queuePosition) => reportPosition(request, queuePosition);
      const fields = { owner: { id: keyId, priority }, onQueued };
      return handle(request, {
        ...dependencies,
        // Most routes do not use it.
        get scheduler() {
          return bindRequests(dependencies.scheduler, fields);
        },
      });
    },
  };
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
