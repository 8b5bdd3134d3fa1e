import { createOutbound, OutboundError, type OutboundResponse } from "@hearth-and-keep/outbound-http";
import { loginError } from "@hearth-and-keep/vault-contract";
import { type Static, type TSchema, Type } from "typebox";
import { Check, Clean } from "typebox/value";
import { clientFailure, isClientFailure, type ReceivedProblem } from "./client-failure.ts";

export type VaultClient = AsyncDisposable & {
  readonly server: string;
  /** The response of a success, validated; an empty one without a schema. Throws for every other response. */
  request<Shape extends TSchema>(path: string, options: ShapedRequest<Shape>): Promise<Static<Shape>>;
  request(path: string, options?: VaultRequest): Promise<undefined>;
  /** Also a 304, and the entity tag of a success. */
  requestTagged<Shape extends TSchema>(
    path: string,
    options: ShapedRequest<Shape>,
  ): Promise<TaggedResponse<Static<Shape>>>;
};

type VaultRequest = {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: object;
  /** Instead of a JSON body. */
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the request is about, for the message of a failure. */
  readonly subject?: string;
  readonly signal?: AbortSignal;
};

type ShapedRequest<Shape extends TSchema> = VaultRequest & { readonly shape: Shape };

export type TaggedResponse<Body> =
  | { readonly isUnchanged: true }
  | { readonly isUnchanged: false; readonly body: Body; readonly tag: string | undefined };

const maxResponseBytes = 64 * 1024 * 1024;
const idleSeconds = 30;

/** Sends the token to this server only: redirects are not followed. */
export function openVaultClient(server: string, token?: string): VaultClient {
  const { host, hostname, port, protocol } = new URL(server);
  const defaultPort = protocol === "https:" ? 443 : 80;
  const outbound = createOutbound({ privateHosts: [port === "" ? `${hostname}:${defaultPort}` : host] });
  const send = async (path: string, request: VaultRequest): Promise<OutboundResponse> => {
    try {
      return await outbound.request(addressOf(server, path, request.query), {
        method: request.method ?? "GET",
        allowPlainHttp: true,
        maxRedirects: 0,
        idleSeconds,
        ...encodeBody(request),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(request.signal === undefined ? {} : { signal: request.signal }),
      });
    } catch (error) {
      throw explainOutbound(error, server);
    }
  };
  const requestTagged: VaultClient["requestTagged"] = async (path, options) => {
    await using response = await send(path, options);
    if (response.status === 304) return { isUnchanged: true };
    const { etag } = response.headers;
    const body = await readShaped(response, { ...options, server });
    return { isUnchanged: false, body, tag: typeof etag === "string" ? etag : undefined };
  };
  function request<Shape extends TSchema>(
    path: string,
    options: ShapedRequest<Shape>,
  ): Promise<Static<Shape>>;
  function request(path: string, options?: VaultRequest): Promise<undefined>;
  async function request(
    path: string,
    options: VaultRequest & { readonly shape?: TSchema } = {},
  ): Promise<unknown> {
    await using response = await send(path, options);
    const { shape, subject } = options;
    if (shape !== undefined) return await readShaped(response, { shape, subject, server });
    if (response.status >= 300) throw await readFailure(response, { subject, server });
    return undefined;
  }
  return { server, request, requestTagged, [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose]() };
}

function addressOf(server: string, path: string, query: VaultRequest["query"] = {}): URL {
  const url = new URL(server + path);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.set(name, value);
  return url;
}

function encodeBody({ body, form, headers = {} }: VaultRequest) {
  if (form !== undefined) {
    const type = { "content-type": "application/x-www-form-urlencoded" };
    return { headers: { ...headers, ...type }, body: Buffer.from(new URLSearchParams(form).toString()) };
  }
  if (body === undefined) return { headers };
  const type = { "content-type": "application/json" };
  return { headers: { ...headers, ...type }, body: Buffer.from(JSON.stringify(body)) };
}

type Expected = { readonly server: string; readonly subject?: string | undefined };

async function readShaped<Shape extends TSchema>(
  response: OutboundResponse,
  { shape, ...expected }: Expected & { readonly shape: Shape },
): Promise<Static<Shape>> {
  if (response.status >= 300) throw await readFailure(response, expected);
  const body = await readJson(response, expected.server);
  // A newer server may add fields.
  const known: unknown = Clean(shape, body);
  if (!Check(shape, known)) throw clientFailure({ kind: "unexpected-server", server: expected.server });
  return known;
}

/** As in the contract; a newer server may have further codes and fields. */
const receivedProblem = Type.Object({
  status: Type.Integer({ minimum: 300, maximum: 599 }),
  title: Type.String({ maxLength: 256 }),
  code: Type.String({ maxLength: 64 }),
  detail: Type.Optional(Type.String({ maxLength: 8192 })),
  errors: Type.Optional(
    Type.Array(
      Type.Object({ place: Type.String({ maxLength: 1024 }), reason: Type.String({ maxLength: 2048 }) }),
      { maxItems: 64 },
    ),
  ),
});

/** What a proxy in front of Keep responds while Keep is away. */
const proxyStatuses = new Set([502, 503, 504]);

async function readFailure(response: OutboundResponse, { server, subject }: Expected): Promise<Error> {
  const { status } = response;
  const body = await readJson(response, server).catch((error: unknown) => {
    if (proxyStatuses.has(status) && isClientFailure(error, "unexpected-server")) return undefined;
    throw error;
  });
  if (Check(loginError, body))
    return clientFailure({ kind: "login-refused", error: body.error, description: body.error_description });
  if (!Check(receivedProblem, body))
    return proxyStatuses.has(status)
      ? clientFailure({ kind: "server-unreachable", server, reason: `its proxy responds with ${status}` })
      : clientFailure({ kind: "unexpected-server", server });
  const problem: ReceivedProblem = body;
  return clientFailure({ kind: "problem", server, problem, subject });
}

async function readJson(response: OutboundResponse, server: string): Promise<unknown> {
  try {
    return JSON.parse((await response.readAll(maxResponseBytes)).toString("utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) throw clientFailure({ kind: "unexpected-server", server });
    throw explainOutbound(error, server);
  }
}

const reasons: Readonly<Partial<Record<OutboundError["reason"], string>>> = {
  "no-address": "could not resolve host",
  "connection-refused": "connection refused",
  "connection-broken": "the connection closed before the response was complete",
  "certificate-untrusted": "its certificate is not trusted",
  "timed-out": "the request timed out",
};

function explainOutbound(error: unknown, server: string): unknown {
  if (!(error instanceof OutboundError)) return error;
  const reason = reasons[error.reason] ?? "the connection failed";
  return clientFailure({ kind: "server-unreachable", server, reason }, { cause: error });
}
