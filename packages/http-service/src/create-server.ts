import { randomUUID } from "node:crypto";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { rejectClientError } from "./client-errors.ts";
import { queuePerConnection } from "./connection-queue.ts";

export type Transport = {
  /** Proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies?: readonly string[];
  /** Sends the response headers after this time and pads the JSON body with spaces until the handler finishes. */
  readonly earlyHeadMilliseconds?: number;
  /** Time limit for receiving a body, except for uploads; five minutes by default. */
  readonly bodyMilliseconds?: number;
  /** How long a client may leave its response unread; a minute by default. */
  readonly unreadMilliseconds?: number;
  /** Enables HTTPS. */
  readonly certificate?: Certificate;
};

const defaultUnreadMilliseconds = 60_000;

export type Certificate = { readonly cert: string; readonly key: string };

/** A Fastify instance with our limits in place of its defaults, which leave most of them open. */
export function createServer(
  options: Transport & { readonly maxBodyBytes: number },
  onUnroutable: (request: FastifyRequest, reply: FastifyReply) => void,
): FastifyInstance {
  const settings = {
    genReqId: () => randomUUID(),
    logger: false,
    bodyLimit: options.maxBodyBytes,
    connectionTimeout: 0,
    // enforceBodyDeadline does this per route.
    requestTimeout: 0,
    keepAliveTimeout: 75_000,
    forceCloseConnections: "idle",
    // While closing, the program rejects requests itself, in the format of their protocol.
    return503OnClosing: false,
    trustProxy: options.trustedProxies === undefined ? false : [...options.trustedProxies],
    routerOptions: { maxParamLength: 1024 },
    frameworkErrors: (_error: Error, request: FastifyRequest, reply: FastifyReply) =>
      onUnroutable(request, reply),
    clientErrorHandler: rejectClientError,
  } as const;
  // Protects against clients that send their headers one byte a minute. Node looks for them every half minute by default.
  const limits = { headersTimeout: 10_000, connectionsCheckingInterval: 1000, maxHeaderSize: 16_384 };
  const server =
    options.certificate === undefined
      ? fastify({ ...settings, http: limits })
      : fastify({ ...settings, https: { ...limits, ...options.certificate } });
  queuePerConnection(server, options.unreadMilliseconds ?? defaultUnreadMilliseconds);
  return server;
}
