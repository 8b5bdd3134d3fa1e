import type { FastifyReply, FastifyRequest } from "fastify";
import type { HttpRequest, LogFields, RequestHead } from "./route.ts";
import { sendComment } from "./send.ts";

/** One finished request, for the log. The route is the pattern of the matched row, never the client's path. */
export type RequestRecord = LogFields & {
  readonly requestId: string;
  readonly route: string;
  readonly status: number;
  readonly durationMilliseconds: number;
};

/** State of one request from its first hook to its log record. */
export type RequestContext = {
  readonly head: RequestHead;
  readonly logFields: () => LogFields;
  actor: unknown;
  /** In milliseconds of `performance.now`. */
  authenticatedAt: number;
};

/** Returns the same context for every hook of a request. */
export function createRequestContexts(): (request: FastifyRequest, reply: FastifyReply) => RequestContext {
  const contexts = new WeakMap<FastifyRequest, RequestContext>();
  return (request, reply) => {
    const existing = contexts.get(request);
    if (existing !== undefined) return existing;
    let logFields: LogFields = {};
    const context: RequestContext = {
      head: readHead(request, {
        addLogFields: (fields) => void (logFields = { ...logFields, ...fields }),
        addResponseHeaders: (headers) => {
          for (const [name, value] of Object.entries(headers)) addValue(reply, name, value);
        },
      }),
      logFields: () => logFields,
      actor: undefined,
      authenticatedAt: 0,
    };
    contexts.set(request, context);
    return context;
  };
}

/** Values of one header are joined as if it had been sent several times (RFC 9110, section 5.3). */
function addValue(reply: FastifyReply, name: string, value: string): void {
  const earlier = reply.hasHeader(name) ? String(reply.getHeader(name)).split(", ") : [];
  if (!earlier.includes(value)) void reply.header(name, [...earlier, value].join(", "));
}

function readHead(
  request: FastifyRequest,
  callbacks: Pick<RequestHead, "addLogFields" | "addResponseHeaders">,
): RequestHead {
  return {
    requestId: request.id,
    method: request.method,
    path: request.url.split("?", 1)[0] ?? "",
    // Fastify types it as unknown because it depends on the path; it is a flat record of strings.
    parameters: (request.params ?? {}) as Record<string, string>,
    // Fastify's parser returns a flat record; a repeated name has a list of strings.
    query: request.query as Record<string, unknown>,
    headers: readHeaders(request),
    clientAddress: request.ip,
    ...callbacks,
  };
}

/** Node drops repeated Host and Authorization headers; access checks must see that there were two. */
function readHeaders({ headers, raw }: FastifyRequest): RequestHead["headers"] {
  // Usually no header is repeated; headersDistinct costs more than everything else about a small request.
  if (raw.rawHeaders.length === 2 * Object.keys(headers).length) return headers;
  const repeated = Object.entries(raw.headersDistinct).filter(([, values]) => (values?.length ?? 0) > 1);
  return repeated.length === 0 ? headers : { ...headers, ...Object.fromEntries(repeated) };
}

/** The request that the handler receives. */
export function createRequest({ head, actor }: RequestContext, reply: FastifyReply): HttpRequest {
  return new HandlerRequest(head, actor, reply);
}

/** A class, because copying the head into an object with a getter costs more than the rest of a small request. */
class HandlerRequest implements HttpRequest {
  readonly requestId: RequestHead["requestId"];
  readonly method: RequestHead["method"];
  readonly path: RequestHead["path"];
  readonly parameters: RequestHead["parameters"];
  readonly query: RequestHead["query"];
  readonly headers: RequestHead["headers"];
  readonly clientAddress: RequestHead["clientAddress"];
  readonly addLogFields: RequestHead["addLogFields"];
  readonly addResponseHeaders: RequestHead["addResponseHeaders"];
  readonly body: unknown;
  readonly actor: unknown;
  readonly #reply: FastifyReply;
  #signal: AbortSignal | undefined;

  constructor(head: RequestHead, actor: unknown, reply: FastifyReply) {
    this.requestId = head.requestId;
    this.method = head.method;
    this.path = head.path;
    this.parameters = head.parameters;
    this.query = head.query;
    this.headers = head.headers;
    this.clientAddress = head.clientAddress;
    this.addLogFields = head.addLogFields;
    this.addResponseHeaders = head.addResponseHeaders;
    this.body = reply.request.body;
    this.actor = actor;
    this.#reply = reply;
  }

  /** Created on first use: most handlers finish without it. */
  get signal(): AbortSignal {
    this.#signal ??= disconnectSignal(this.#reply);
    return this.#signal;
  }

  addComment(text: string): void {
    sendComment(this.#reply.raw, text);
  }
}

function disconnectSignal({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const abortIfIncomplete = (): void => {
    if (!raw.writableFinished) controller.abort();
  };
  if (raw.closed) abortIfIncomplete();
  else raw.once("close", abortIfIncomplete);
  return controller.signal;
}

/** Status in the log when the client disconnected before the response was complete; never sent. */
const clientClosedRequest = 499;

/** Calls back once, when the response is complete or the client has disconnected. */
export function onRequestEnd(
  request: FastifyRequest,
  reply: FastifyReply,
  callback: (record: RequestRecord) => void,
): void {
  const startedAt = performance.now();
  reply.raw.once("close", () => {
    callback({
      requestId: request.id,
      route: `${request.method} ${request.routeOptions.url ?? "no route"}`,
      status: reply.raw.writableFinished ? reply.raw.statusCode : clientClosedRequest,
      durationMilliseconds: Math.round(performance.now() - startedAt),
    });
  });
}
