import { randomUUID } from "node:crypto";
import type { Server as HttpsServer } from "node:https";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import type { WholeAnswer } from "./answer.ts";
import { answerUnreadable } from "./answer-unreadable.ts";
import { endLateBody } from "./body-deadline.ts";
import { describeCall, describeHead } from "./describe-call.ts";
import { isLate, sendLate } from "./early-head.ts";
import { close, listen, type Place } from "./listening.ts";
import { forgetType, nameBodyProblem, passStreams, readBodies, readPackedBodies } from "./read-body.ts";
import type { CallHead, RequestNotes, Route } from "./route.ts";
import { send, sendWhole } from "./send.ts";
import { watchRequest } from "./watch-request.ts";

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
  /**
   * Decides on the matched row, before the body is read, whether the caller may go on; throws when not. What it gives,
   * or promises, is the call's admission.
   */
  readonly admit?: (head: CallHead, row: Row | undefined) => unknown;
  /** What a browser is told that asks whether another site's page may call; absent tells it no. */
  readonly answerPreflight?: (head: CallHead) => WholeAnswer;
  /** Headers that every answer carries, whoever made it. */
  readonly addHeaders?: (head: CallHead) => Readonly<Record<string, string>>;
  readonly recordRequest: (record: RequestRecord) => void;
  readonly mostBodyBytes: number;
} & Transport;

export type Transport = {
  /** Addresses of proxies whose word about the caller's address is taken. */
  readonly trustedProxies?: readonly string[];
  /** After this long an answer that is not whole yet gets its head, and spaces until it is; without it, it waits. */
  readonly earlyHeadMilliseconds?: number;
  /** How long a whole body may take to arrive, an upload's excepted; five minutes unless said otherwise. */
  readonly bodyMilliseconds?: number;
  /** With one, the server speaks HTTPS. */
  readonly certificate?: Certificate;
};

export type Certificate = { readonly cert: string; readonly key: string };

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

const longestBodyMilliseconds = 300_000;

/** What is remembered of a request while it is answered. */
type SeenRequest = { readonly head: CallHead; notes: RequestNotes; admission: unknown };

export function createHttpService<Row extends Route>(parts: HttpServiceParts<Row>): HttpService {
  const see = rememberRequests();
  const headOf = (request: FastifyRequest): CallHead => see(request).head;
  const fail = (problem: unknown, row: Row | undefined, reply: FastifyReply): void => {
    // Nobody reads the rest of an upload that was refused.
    if (row?.body === "stream" && !reply.request.raw.complete) void reply.header("connection", "close");
    sendWhole(reply, parts.answerFailure(nameBodyProblem(problem), row, headOf(reply.request)));
  };
  const uploads = new Set(parts.routes.flatMap((row) => (row.body === "stream" ? [routeOf(row)] : [])));
  let isClosing = false;
  const watch = (request: FastifyRequest, reply: FastifyReply): void => {
    const { method, routeOptions } = request;
    if (!uploads.has(routeOf({ method, path: routeOptions?.url ?? "" }))) {
      endLateBody(request, reply, parts.bodyMilliseconds ?? longestBodyMilliseconds);
    }
    watchRequest(request, reply, (outcome) => {
      // A connection kept alive after the last answer would hold the end up until the grace is over.
      if (isClosing) setImmediate(() => server.server.closeIdleConnections());
      parts.recordRequest({ ...see(request).notes, ...outcome });
    });
  };
  const refuseUnknown = async (request: FastifyRequest): Promise<never> => {
    await parts.admit?.(headOf(request), undefined);
    throw new NoSuchRoute();
  };
  const server = createServer(parts, (request, reply) => {
    watch(request, reply);
    refuseUnknown(request).catch((problem: unknown) => fail(problem, undefined, reply));
  });
  readBodies(server);
  server.addHook("onRequest", (request, reply, done) => {
    watch(request, reply);
    if (parts.addHeaders !== undefined) void reply.headers(parts.addHeaders(headOf(request)));
    // Before the body is read, as for every row.
    if (isUnknown(request)) void refuseUnknown(request).then(undefined, done);
    else done();
  });
  const { answerPreflight } = parts;
  if (answerPreflight !== undefined) {
    server.options("*", (request, reply) => sendWhole(reply, answerPreflight(headOf(request))));
  }
  addRoutes(server, { parts, see, fail });
  server.setErrorHandler((problem, _request, reply) => fail(problem, undefined, reply));
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

/** What is found out about a request on its way, from its first hook to its record. */
function rememberRequests(): (request: FastifyRequest) => SeenRequest {
  const seen = new WeakMap<FastifyRequest, SeenRequest>();
  return (request) => {
    const known = seen.get(request);
    if (known !== undefined) return known;
    const note: CallHead["note"] = (more) => void (fresh.notes = { ...fresh.notes, ...more });
    const fresh: SeenRequest = { head: describeHead(request, note), notes: {}, admission: undefined };
    seen.set(request, fresh);
    return fresh;
  };
}

function routeOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path}`;
}

function createServer<Row extends Route>(
  parts: HttpServiceParts<Row>,
  answerUnroutable: (request: FastifyRequest, reply: FastifyReply) => void,
): FastifyInstance {
  const settings = {
    genReqId: () => randomUUID(),
    logger: false,
    bodyLimit: parts.mostBodyBytes,
    // Node's own defaults leave most of these open to a client that sends one byte a minute.
    connectionTimeout: 0,
    // Ours is in body-deadline.ts.
    requestTimeout: 0,
    keepAliveTimeout: 75_000,
    forceCloseConnections: "idle",
    // What comes while the server ends is turned away by the program, in the words of its family.
    return503OnClosing: false,
    trustProxy: parts.trustedProxies === undefined ? false : [...parts.trustedProxies],
    routerOptions: { maxParamLength: 1024 },
    frameworkErrors: (_problem: Error, request: FastifyRequest, reply: FastifyReply) =>
      answerUnroutable(request, reply),
    clientErrorHandler: answerUnreadable,
  } as const;
  const limits = { headersTimeout: 15_000, maxHeaderSize: 16_384 };
  if (parts.certificate === undefined) return fastify({ ...settings, http: limits });
  return fastify({ ...settings, https: { ...limits, ...parts.certificate } });
}

/** A whole address in place of a path is for proxies; it could name another host than the one that was allowed. */
function isUnknown({ is404, raw }: FastifyRequest): boolean {
  return is404 || raw.url?.startsWith("/") !== true;
}

type RouteParts<Row extends Route> = {
  readonly parts: HttpServiceParts<Row>;
  readonly see: (request: FastifyRequest) => SeenRequest;
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
  { parts, see, fail }: RouteParts<Row>,
): void {
  const register = (scope: FastifyInstance): void => {
    scope.route({
      method: row.method,
      url: row.path,
      onRequest: async (request) => {
        const known = see(request);
        known.admission = await parts.admit?.(known.head, row);
        if (row.body !== "stream") forgetType(request);
      },
      errorHandler: (problem, _request, reply) => fail(problem, row, reply),
      handler: async (request, reply) => {
        const { head, admission } = see(request);
        const answer = Promise.resolve(row.handle(describeCall(head, { request, reply, admission })));
        const explain = (problem: unknown): WholeAnswer => parts.answerFailure(problem, row, head);
        const { earlyHeadMilliseconds } = parts;
        if (earlyHeadMilliseconds !== undefined && (await isLate(answer, earlyHeadMilliseconds))) {
          await sendLate(reply, answer, explain);
        } else await send(reply, await answer);
        return reply;
      },
    });
  };
  if (row.body !== "stream" && row.packing === undefined) {
    register(server);
    return;
  }
  void server.register(async (scope) => {
    if (row.body === "stream") passStreams(scope);
    else readPackedBodies(scope, parts.mostBodyBytes);
    register(scope);
  });
}

/** A path that exists answers every other method by naming those it has. */
function refuseOtherMethods<Row extends Route>(
  server: FastifyInstance,
  rows: readonly Row[],
  { parts, see, fail }: RouteParts<Row>,
): void {
  const has = new Set(rows.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])));
  const others = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].filter((method) => !has.has(method));
  const [first] = rows;
  if (first === undefined || others.length === 0) return;
  server.route({
    method: others,
    url: first.path,
    exposeHeadRoute: false,
    onRequest: async (request) => {
      await parts.admit?.(see(request).head, first);
      throw new NoSuchMethod([...has]);
    },
    errorHandler: (problem, _request, reply) => fail(problem, first, reply),
    handler: () => undefined,
  });
}
