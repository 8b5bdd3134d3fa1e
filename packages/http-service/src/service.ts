import type { Server as HttpsServer } from "node:https";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type BodyBudget, createBodyBudget } from "./body-budget.ts";
import { enforceBodyDeadline } from "./client-errors.ts";
import { type Certificate, createServer, type Transport } from "./create-server.ts";
import { close, type ListenAddress, listen } from "./listen.ts";
import { parseForms } from "./parse-multipart.ts";
import { parseUrlencodedBodies } from "./parse-urlencoded.ts";
import {
  BodyError,
  type ContentEncoding,
  ignoreContentType,
  noteTextBody,
  parseJsonBodies,
  passBodyStreams,
  toBodyError,
} from "./read-body.ts";
import {
  createRequest,
  createRequestContexts,
  onRequestEnd,
  type RequestContext,
  type RequestRecord,
} from "./request-context.ts";
import type { BufferedResponse } from "./response.ts";
import type { HttpRequest, RequestHead, Route } from "./route.ts";
import { isLate, send, sendBuffered, sendEarlyHead } from "./send.ts";
import { createRequestValidator, type ExplainInvalid } from "./validate-request.ts";

export type HttpServiceOptions<Row extends Route<Actor, Dependencies>, Actor, Dependencies> = {
  readonly routes: readonly Row[];
  /** Passed to every handler. */
  readonly dependencies: Dependencies;
  /**
   * Runs on the head of every request, before its body is read; throws to reject the request. Its result is the
   * request's `actor`. The row is undefined for an unknown path.
   */
  readonly authenticate: (head: RequestHead, row: Row | undefined) => Actor | Promise<Actor>;
  /**
   * Authenticates a request once more whose body took longer than a moment to arrive, before the handler gets it: a client
   * can hold a body back until after its access has ended. Without it, the first result stands.
   */
  readonly authenticateAgain?: (head: RequestHead, row: Row) => Actor | Promise<Actor>;
  /** Maps every error of authentication, parsing and handlers to the response of that row's protocol. */
  readonly toErrorResponse: (error: unknown, row: Row | undefined, head: RequestHead) => BufferedResponse;
  /** Logs errors. Also called for errors after the response has started, which `toErrorResponse` never sees. */
  readonly onError?: (error: unknown, head: RequestHead) => void;
  /** Handles CORS preflight requests. Without it OPTIONS is not allowed, so browsers refuse cross-origin calls. */
  readonly handlePreflight?: (head: RequestHead) => BufferedResponse;
  /** Headers of every response, errors included. */
  readonly addHeaders?: (head: RequestHead) => Readonly<Record<string, string>>;
  /** Without it, or when it finds nothing, clients get the validator's own words. */
  readonly explainInvalid?: ExplainInvalid;
  readonly recordRequest: (record: RequestRecord) => void;
  /** For rows without a limit of their own. */
  readonly maxBodyBytes: number;
  /** For all large bodies at once; no limit by default. */
  readonly maxBytesInFlight?: number;
  /** Content encodings that JSON bodies may have; none by default. */
  readonly contentEncodings?: readonly ContentEncoding[];
} & Transport;

export type HttpService = {
  listen(address: ListenAddress): Promise<{ readonly url: string }>;
  /** Applies to new connections; open connections keep the old certificate. */
  renewCertificate(certificate: Certificate): void;
  /** Stops accepting requests, waits for running ones, and closes what is left after the grace period. */
  close(graceSeconds: number): Promise<void>;
};

/** Passed to `toErrorResponse` when no row has the path. */
export class RouteNotFoundError extends Error {}

/** Passed to `toErrorResponse` when rows have the path but not the method. */
export class MethodNotAllowedError extends Error {
  readonly allowed: readonly string[];

  constructor(allowed: readonly string[]) {
    super("method not allowed");
    this.allowed = allowed;
  }
}

const defaultBodyMilliseconds = 300_000;
/** A body that is complete so soon after its request was authenticated needs no second look. */
const promptMilliseconds = 200;

/** Starts no listener; `listen` does. */
export function createHttpService<Row extends Route<Actor, Dependencies>, Actor, Dependencies>(
  options: HttpServiceOptions<Row, Actor, Dependencies>,
): HttpService {
  const contextOf = createRequestContexts();
  const fail = (error: unknown, row: Row | undefined, reply: FastifyReply): void => {
    // The rest of a rejected upload is never read, so the connection cannot be reused.
    if (row?.body === "stream" && !reply.request.raw.complete) void reply.header("connection", "close");
    const { head } = contextOf(reply.request, reply);
    const named = toBodyError(error);
    options.onError?.(named, head);
    sendBuffered(reply, options.toErrorResponse(named, row, head));
  };
  const rejectUnknownPath = async (request: FastifyRequest, reply: FastifyReply): Promise<never> => {
    await options.authenticate(contextOf(request, reply).head, undefined);
    throw new RouteNotFoundError();
  };
  const uploads = uploadNames(options.routes);
  let isClosing = false;
  const watch = (request: FastifyRequest, reply: FastifyReply): void => {
    const { method, routeOptions } = request;
    if (!uploads.has(nameOf({ method, path: routeOptions?.url ?? "" }))) {
      enforceBodyDeadline(request, reply, options.bodyMilliseconds ?? defaultBodyMilliseconds);
    }
    onRequestEnd(request, reply, (record) => {
      // An idle keep-alive connection would delay closing until the grace period is over.
      if (isClosing) setImmediate(() => server.server.closeIdleConnections());
      keepRecord(options, contextOf(request, reply), record);
    });
  };
  const server = createServer(options, (request, reply) => {
    watch(request, reply);
    rejectUnknownPath(request, reply).catch((error: unknown) => fail(error, undefined, reply));
  });
  const bodyBudget = createBodyBudget(options.maxBytesInFlight);
  parseJsonBodies(server, { contentEncodings: options.contentEncodings, onDecompressed: bodyBudget?.add });
  server.addHook("onRequest", (request, reply, done) => {
    watch(request, reply);
    void reply.headers(options.addHeaders?.(contextOf(request, reply).head) ?? {});
    if (isUnknownPath(request)) void rejectUnknownPath(request, reply).then(undefined, done);
    else done();
  });
  addPreflight(server, options, contextOf);
  addRoutes(server, { options, contextOf, bodyBudget, fail });
  server.setErrorHandler((error, _request, reply) => fail(error, undefined, reply));
  return {
    listen: (address) => listen(server, address, options.certificate === undefined ? "http" : "https"),
    renewCertificate(certificate) {
      // Fastify creates an HTTPS server when it is given a certificate.
      (server.server as unknown as HttpsServer).setSecureContext(certificate);
    },
    close: (graceSeconds) => {
      isClosing = true;
      return close(server, graceSeconds);
    },
  };
}

/** Routes whose bodies arrive as a stream, at whatever pace the client has. */
type RecordOptions = {
  readonly recordRequest: (record: RequestRecord) => void;
  readonly onError?: (error: unknown, head: RequestHead) => void;
};

/** Nobody waits for the record, so an error would end the process. */
function keepRecord(
  { recordRequest, onError }: RecordOptions,
  { logFields, head }: Pick<RequestContext, "logFields" | "head">,
  record: RequestRecord,
): void {
  try {
    recordRequest({ ...logFields(), ...record });
  } catch (error) {
    onError?.(error, head);
  }
}

function addPreflight(
  server: FastifyInstance,
  { handlePreflight }: { readonly handlePreflight?: (head: RequestHead) => BufferedResponse },
  contextOf: (request: FastifyRequest, reply: FastifyReply) => RequestContext,
): void {
  if (handlePreflight === undefined) return;
  server.options("*", (request, reply) =>
    sendBuffered(reply, handlePreflight(contextOf(request, reply).head)),
  );
}

function uploadNames(routes: readonly Pick<Route, "method" | "path" | "body">[]): ReadonlySet<string> {
  return new Set(routes.flatMap((row) => (row.body === "stream" ? [nameOf(row)] : [])));
}

function nameOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path}`;
}

/** Also true for an absolute URL as the request target: it could name another host than the checked Host header. */
function isUnknownPath({ is404, raw }: FastifyRequest): boolean {
  return is404 || raw.url?.startsWith("/") !== true;
}

type RouteContext<Row extends Route<Actor, Dependencies>, Actor, Dependencies> = {
  readonly options: HttpServiceOptions<Row, Actor, Dependencies>;
  readonly contextOf: (request: FastifyRequest, reply: FastifyReply) => RequestContext;
  readonly bodyBudget: BodyBudget | undefined;
  readonly fail: (error: unknown, row: Row | undefined, reply: FastifyReply) => void;
};

function addRoutes<Row extends Route<Actor, Dependencies>, Actor, Dependencies>(
  server: FastifyInstance,
  context: RouteContext<Row, Actor, Dependencies>,
): void {
  const byPath = Map.groupBy(context.options.routes, (row) => row.path);
  for (const rows of byPath.values()) {
    for (const row of rows) addRoute(server, row, context);
    rejectOtherMethods(server, rows, context);
  }
}

function addRoute<Row extends Route<Actor, Dependencies>, Actor, Dependencies>(
  server: FastifyInstance,
  row: Row,
  { options, contextOf, bodyBudget, fail }: RouteContext<Row, Actor, Dependencies>,
): void {
  const validate = createRequestValidator(row, options.explainInvalid);
  const { maxBodyBytes = options.maxBodyBytes } = row;
  const register = (scope: FastifyInstance): void => {
    scope.route({
      method: row.method,
      url: row.path,
      bodyLimit: maxBodyBytes,
      onRequest: async (request, reply) => {
        const context = contextOf(request, reply);
        context.actor = await options.authenticate(context.head, row);
        context.authenticatedAt = performance.now();
        if (row.textBody !== undefined) noteTextBody(request, row.textBody);
        if (row.body !== "stream") ignoreContentType(request);
      },
      ...(bodyBudget === undefined || row.body === "stream"
        ? {}
        : { preParsing: async (request, reply, body) => bodyBudget.count(request, reply, body) }),
      errorHandler: (error, _request, reply) => fail(error, row, reply),
      handler: async (request, reply) => {
        const context = contextOf(request, reply);
        const { head } = context;
        if (row.body === "form" && request.body === undefined) throw new BodyError("missing");
        validate(request.body, head.query);
        await confirmActor(context, row, options.authenticateAgain);
        // `authenticate` set the actor in the hook above.
        const typed = createRequest(context, reply) as HttpRequest<Actor>;
        const response = Promise.resolve(row.handle(typed, options.dependencies)).finally(() =>
          bodyBudget?.release(request),
        );
        const { earlyHeadMilliseconds } = options;
        const onError = (error: unknown): void => options.onError?.(error, head);
        if (earlyHeadMilliseconds !== undefined && (await isLate(response, earlyHeadMilliseconds))) {
          await sendEarlyHead(reply, response, (error) => {
            onError(error);
            return options.toErrorResponse(error, row, head);
          });
        } else await send(reply, await response, onError);
        return reply;
      },
    });
  };
  if (row.body === undefined || row.body === "json") {
    register(server);
    return;
  }
  const replaceParsers = bodyParsers[row.body];
  void server.register(async (scope) => {
    replaceParsers(scope);
    register(scope);
  });
}

async function confirmActor<Row>(
  context: RequestContext,
  row: Row,
  authenticateAgain: ((head: RequestHead, row: Row) => unknown) | undefined,
): Promise<void> {
  const isPrompt = performance.now() - context.authenticatedAt <= promptMilliseconds;
  if (authenticateAgain === undefined || isPrompt) return;
  context.actor = await authenticateAgain(context.head, row);
}

const bodyParsers = { form: parseForms, urlencoded: parseUrlencodedBodies, stream: passBodyStreams } as const;

/** Responds to every other method of a known path with the methods it has. */
function rejectOtherMethods<Row extends Route<Actor, Dependencies>, Actor, Dependencies>(
  server: FastifyInstance,
  rows: readonly Row[],
  { options, contextOf, fail }: RouteContext<Row, Actor, Dependencies>,
): void {
  const allowed = new Set(rows.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])));
  const others = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].filter((method) => !allowed.has(method));
  const [first] = rows;
  if (first === undefined || others.length === 0) return;
  server.route({
    method: others,
    url: first.path,
    exposeHeadRoute: false,
    onRequest: async (request, reply) => {
      await options.authenticate(contextOf(request, reply).head, first);
      throw new MethodNotAllowedError([...allowed]);
    },
    errorHandler: (error, _request, reply) => fail(error, first, reply),
    handler: () => undefined,
  });
}
