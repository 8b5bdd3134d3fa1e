import { randomUUID } from "node:crypto";
import type { Server as HttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import type { WholeAnswer } from "./answer.ts";
import { nameBodyProblem, passStreams, readBodies } from "./read-body.ts";
import type { Call, CallHead, RequestNotes, Route } from "./route.ts";
import { send, sendWhole } from "./send.ts";

/** What one finished request looks like in the log. The path is the matched row's, never the caller's text. */
export type RequestRecord = RequestNotes & {
  readonly requestId: string;
  readonly route: string;
  readonly status: number;
  readonly durationMilliseconds: number;
};

export type HttpServiceParts<Row extends Route> = {
  readonly routes: readonly Row[];
  /** Turns anything thrown by a handler, or by reading the request, into the answer of that row's family. */
  readonly answerFailure: (problem: unknown, row: Row | undefined, head: CallHead) => WholeAnswer;
  /** Decides on the matched row, before the body is read, whether the caller may go on; throws when not. */
  readonly admit?: (head: CallHead, row: Row | undefined) => void;
  /** What a browser is told that asks whether another site's page may call; absent tells it no. */
  readonly answerPreflight?: (head: CallHead) => WholeAnswer;
  /** Headers that every answer carries, whoever made it. */
  readonly addHeaders?: (head: CallHead) => Readonly<Record<string, string>>;
  readonly recordRequest: (record: RequestRecord) => void;
  readonly mostBodyBytes: number;
  /** Addresses of proxies whose word about the caller's address is taken. */
  readonly trustedProxies?: readonly string[];
  readonly certificate?: Certificate;
};

export type Certificate = { readonly cert: string; readonly key: string };
export type Place = { readonly host: string; readonly port: number };

export type HttpService = {
  listen(place: Place): Promise<{ readonly url: string }>;
  /** New connections get this certificate; those that are open keep theirs. */
  renewCertificate(certificate: Certificate): void;
  /** Takes no new request, lets running ones finish for a while, then cuts what is left. */
  close(graceSeconds: number): Promise<void>;
};

/** Thrown into `answerFailure` when no row matches. */
export class NoSuchRoute extends Error {}

/** Thrown into `answerFailure` when a row has the path but another method. */
export class NoSuchMethod extends Error {
  readonly allowed: readonly string[];

  constructor(allowed: readonly string[]) {
    super("no such method");
    this.allowed = allowed;
  }
}

/** The address cannot be had, for a reason the person who started us can do something about. */
export class AddressError extends Error {
  readonly reason: "taken" | "unusable";
  readonly host: string;
  readonly port: number;

  constructor(reason: "taken" | "unusable", place: Place, options?: ErrorOptions) {
    super(`address ${reason}`, options);
    this.name = "AddressError";
    this.reason = reason;
    this.host = place.host;
    this.port = place.port;
  }
}

export function createHttpService<Row extends Route>(parts: HttpServiceParts<Row>): HttpService {
  const server = createServer(parts);
  const notes = new WeakMap<FastifyRequest, RequestNotes>();
  const headOf = (request: FastifyRequest): CallHead => describeHead(request, notes);
  const fail = (problem: unknown, row: Row | undefined, reply: FastifyReply): void =>
    sendWhole(reply, parts.answerFailure(nameBodyProblem(problem), row, headOf(reply.request)));
  readBodies(server);
  if (parts.addHeaders !== undefined)
    addHeaders(server, (request) => parts.addHeaders?.(headOf(request)) ?? {});
  const { answerPreflight } = parts;
  if (answerPreflight !== undefined) {
    server.options("*", (request, reply) => sendWhole(reply, answerPreflight(headOf(request))));
  }
  addRoutes(server, { parts, headOf, fail });
  server.setNotFoundHandler((request, reply) => {
    try {
      parts.admit?.(headOf(request), undefined);
      fail(new NoSuchRoute(), undefined, reply);
    } catch (problem) {
      fail(problem, undefined, reply);
    }
  });
  server.setErrorHandler((problem, _request, reply) => fail(problem, undefined, reply));
  let isClosing = false;
  server.addHook("onResponse", async (request, reply) => {
    // A connection kept alive after the last answer would hold the end up until the grace is over.
    if (isClosing) setImmediate(() => server.server.closeIdleConnections());
    parts.recordRequest({
      ...notes.get(request),
      requestId: request.id,
      route: `${request.method} ${request.routeOptions.url ?? "no route"}`,
      status: reply.statusCode,
      durationMilliseconds: Math.round(reply.elapsedTime),
    });
  });
  return {
    listen: (place) => listen(server, place, parts.certificate === undefined ? "http" : "https"),
    renewCertificate(certificate) {
      // Made with a certificate, the server is one of https.
      (server.server as unknown as HttpsServer).setSecureContext(certificate);
    },
    close: (graceSeconds) => {
      isClosing = true;
      return close(server, graceSeconds);
    },
  };
}

function createServer<Row extends Route>(parts: HttpServiceParts<Row>): FastifyInstance {
  const settings = {
    genReqId: () => randomUUID(),
    logger: false,
    bodyLimit: parts.mostBodyBytes,
    // Node's own defaults leave most of these open to a client that sends one byte a minute.
    connectionTimeout: 0,
    requestTimeout: 300_000,
    keepAliveTimeout: 75_000,
    forceCloseConnections: "idle",
    trustProxy: parts.trustedProxies === undefined ? false : [...parts.trustedProxies],
    routerOptions: { maxParamLength: 1024 },
  } as const;
  const limits = { headersTimeout: 15_000, maxHeaderSize: 16_384 };
  if (parts.certificate === undefined) return fastify({ ...settings, http: limits });
  return fastify({ ...settings, https: { ...limits, ...parts.certificate } });
}

function addHeaders(
  server: FastifyInstance,
  headers: (request: FastifyRequest) => Readonly<Record<string, string>>,
): void {
  server.addHook("onRequest", async (request, reply) => {
    for (const [name, value] of Object.entries(headers(request))) {
      void reply.header(name, value);
      // A streamed answer writes its head past the framework.
      reply.raw.setHeader(name, value);
    }
  });
}

type RouteParts<Row extends Route> = {
  readonly parts: HttpServiceParts<Row>;
  readonly headOf: (request: FastifyRequest) => CallHead;
  readonly fail: (problem: unknown, row: Row | undefined, reply: FastifyReply) => void;
};

function addRoutes<Row extends Route>(server: FastifyInstance, routeParts: RouteParts<Row>): void {
  const byPath = Map.groupBy(routeParts.parts.routes, (row) => row.path);
  for (const rows of byPath.values()) {
    for (const row of rows) addRow(server, row, routeParts);
    refuseOtherMethods(server, rows, routeParts);
  }
}

function addRow<Row extends Route>(
  server: FastifyInstance,
  row: Row,
  { parts, headOf, fail }: RouteParts<Row>,
): void {
  const register = (scope: FastifyInstance): void => {
    scope.route({
      method: row.method,
      url: row.path,
      onRequest: async (request) => parts.admit?.(headOf(request), row),
      errorHandler: (problem, _request, reply) => fail(problem, row, reply),
      handler: async (request, reply) => {
        await send(reply, await row.handle(describeCall(headOf(request), request, reply)));
        return reply;
      },
    });
  };
  if (row.body !== "stream") {
    register(server);
    return;
  }
  void server.register(async (scope) => {
    passStreams(scope);
    register(scope);
  });
}

/** A path that exists answers every other method by naming those it has. */
function refuseOtherMethods<Row extends Route>(
  server: FastifyInstance,
  rows: readonly Row[],
  { parts, headOf, fail }: RouteParts<Row>,
): void {
  const has = new Set(rows.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])));
  const others = ["GET", "POST", "PUT", "PATCH", "DELETE"].filter((method) => !has.has(method));
  const [first] = rows;
  if (first === undefined || others.length === 0) return;
  server.route({
    method: others,
    url: first.path,
    exposeHeadRoute: false,
    onRequest: async (request) => {
      parts.admit?.(headOf(request), first);
      throw new NoSuchMethod([...has]);
    },
    errorHandler: (problem, _request, reply) => fail(problem, first, reply),
    handler: () => undefined,
  });
}

function describeHead(request: FastifyRequest, notes: WeakMap<FastifyRequest, RequestNotes>): CallHead {
  return {
    requestId: request.id,
    method: request.method,
    path: request.url.split("?", 1)[0] ?? "",
    // Fastify types it as unknown because it depends on the path; it is a flat record of strings.
    parameters: (request.params ?? {}) as Record<string, string>,
    // Fastify's parser gives a flat record; a repeated name has a list of strings.
    query: request.query as Record<string, unknown>,
    headers: request.headers,
    address: request.ip,
    note: (more) => void notes.set(request, { ...notes.get(request), ...more }),
  };
}

function describeCall(head: CallHead, request: FastifyRequest, reply: FastifyReply): Call {
  const hangUp = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) hangUp.abort();
  });
  return { ...head, body: request.body, signal: hangUp.signal };
}

async function listen(
  server: FastifyInstance,
  place: Place,
  scheme: "http" | "https",
): Promise<{ readonly url: string }> {
  try {
    await server.listen({ host: place.host, port: place.port });
  } catch (problem) {
    throw nameAddressProblem(problem, place);
  }
  // A server that listens on TCP has an AddressInfo, never a pipe name.
  const { port } = server.server.address() as AddressInfo;
  const host = place.host.includes(":") ? `[${place.host}]` : place.host;
  return { url: `${scheme}://${host}:${port}` };
}

function nameAddressProblem(problem: unknown, place: Place): unknown {
  const code = problem instanceof Error && "code" in problem ? String(problem.code) : "";
  if (code === "EADDRINUSE") return new AddressError("taken", place, { cause: problem });
  const isUnusable = ["EADDRNOTAVAIL", "EACCES", "ENOTFOUND", "EAI_AGAIN", "EINVAL"].includes(code);
  return isUnusable ? new AddressError("unusable", place, { cause: problem }) : problem;
}

async function close(server: FastifyInstance, graceSeconds: number): Promise<void> {
  const impatience = setTimeout(() => server.server.closeAllConnections(), graceSeconds * 1000);
  try {
    await server.close();
  } finally {
    clearTimeout(impatience);
  }
}
