import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import type { Answer } from "./answer.ts";
import type { Call, Route } from "./route.ts";

/** What one finished request looks like in the log. The path is the matched row's, never the caller's text. */
export type RequestRecord = {
  readonly requestId: string;
  readonly route: string;
  readonly status: number;
  readonly durationMilliseconds: number;
};

export type HttpServiceParts<Row extends Route> = {
  readonly routes: readonly Row[];
  /** Turns anything thrown by a handler, or by reading the request, into the answer of that row's family. */
  readonly answerFailure: (problem: unknown, row: Row | undefined) => Answer;
  readonly recordRequest: (record: RequestRecord) => void;
  readonly mostBodyBytes: number;
};

export type Place = { readonly host: string; readonly port: number };

export type HttpService = {
  listen(place: Place): Promise<{ readonly url: string }>;
  /** Takes no new request, lets running ones finish for a while, then cuts what is left. */
  close(graceSeconds: number): Promise<void>;
};

/** Thrown into `answerFailure` when no row matches. */
export class NoSuchRoute extends Error {}

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
  const server = fastify({
    genReqId: () => randomUUID(),
    logger: false,
    bodyLimit: parts.mostBodyBytes,
    // Node's own defaults leave most of these open to a client that sends one byte a minute.
    connectionTimeout: 0,
    requestTimeout: 300_000,
    keepAliveTimeout: 75_000,
    forceCloseConnections: "idle",
    http: { headersTimeout: 15_000, maxHeaderSize: 16_384 },
  });
  for (const row of parts.routes) addRoute(server, { row, parts });
  server.setNotFoundHandler((_request, reply) =>
    send(reply, parts.answerFailure(new NoSuchRoute(), undefined)),
  );
  server.setErrorHandler((problem, _request, reply) => {
    send(reply, parts.answerFailure(problem, undefined));
  });
  let isClosing = false;
  server.addHook("onResponse", async (request, reply) => {
    // A connection kept alive after the last answer would hold the end up until the grace is over.
    if (isClosing) setImmediate(() => server.server.closeIdleConnections());
    parts.recordRequest({
      requestId: request.id,
      route: `${request.method} ${request.routeOptions.url ?? "no route"}`,
      status: reply.statusCode,
      durationMilliseconds: Math.round(reply.elapsedTime),
    });
  });
  return {
    listen: (place) => listen(server, place),
    close: (graceSeconds) => {
      isClosing = true;
      return close(server, graceSeconds);
    },
  };
}

function addRoute<Row extends Route>(
  server: FastifyInstance,
  { row, parts }: { row: Row; parts: HttpServiceParts<Row> },
): void {
  server.route({
    method: row.method,
    url: row.path,
    errorHandler: (problem, _request, reply) => {
      send(reply, parts.answerFailure(problem, row));
    },
    handler: async (request, reply) => {
      send(reply, await row.handle(describeCall(request, reply)));
      return reply;
    },
  });
}

function describeCall(request: FastifyRequest, reply: FastifyReply): Call {
  const hangUp = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) hangUp.abort();
  });
  return {
    requestId: request.id,
    // Fastify types it as unknown because it depends on the path; it is a flat record of strings.
    parameters: request.params as Record<string, string>,
    // Fastify's parser gives a flat record; a repeated name has a list of strings.
    query: request.query as Record<string, unknown>,
    headers: request.headers,
    body: request.body,
    signal: hangUp.signal,
  };
}

function send(reply: FastifyReply, answer: Answer): void {
  void reply
    .code(answer.status)
    .headers({ ...answer.headers, "x-request-id": reply.request.id })
    .send(answer.body);
}

async function listen(server: FastifyInstance, place: Place): Promise<{ readonly url: string }> {
  try {
    await server.listen({ host: place.host, port: place.port });
  } catch (problem) {
    throw nameAddressProblem(problem, place);
  }
  // A server that listens on TCP has an AddressInfo, never a pipe name.
  const { port } = server.server.address() as AddressInfo;
  const host = place.host.includes(":") ? `[${place.host}]` : place.host;
  return { url: `http://${host}:${port}` };
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
