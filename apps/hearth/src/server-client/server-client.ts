import { readFile } from "node:fs/promises";
import { readStreamNotice, type StreamNotice } from "@hearth-and-keep/hearth-contract";
import { createOutbound, OutboundError, type OutboundResponse } from "@hearth-and-keep/outbound-http";
import { callFailure } from "./call-failure.ts";
import { type ClientEnvironment, readClientEnvironment } from "./config.ts";
import { type RequestContext, readErrorResponse, readStreamedError } from "./error-response.ts";
import { defaultServerAddress, parseServerAddress, type ServerAddress } from "./server-address.ts";

/** Options of all commands that call a server. */
export type ServerFlags = { readonly host?: string; readonly apiKeyFile?: string };

export type ServerClient = AsyncDisposable & {
  readonly address: ServerAddress;
  /** Whether the address was set by a flag or an environment variable. */
  readonly isNamed: boolean;
  readonly apiKeyFile: string | undefined;
  /** For programs that are started to call the same server. */
  readonly apiKey: string | undefined;
  /** Sends a POST with a JSON body, or a GET without one. Returns the parsed JSON; undefined if the response is empty. */
  request(path: string, body?: unknown, options?: RequestOptions): Promise<unknown>;
  /** Yields the objects of an NDJSON response. */
  stream(path: string, body: unknown, signal?: AbortSignal): AsyncGenerator<StreamedObject>;
  /** Like `stream`, for requests that may load a model: meanwhile it yields what they wait for. */
  streamAfterLoad(
    path: string,
    body: unknown,
    signal?: AbortSignal,
  ): AsyncGenerator<StreamedObject | StreamNotice>;
  hasBlob(digest: string): Promise<boolean>;
  upload(digest: string, bytes: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>;
};

type StreamedObject = Readonly<Record<string, unknown>>;

type RequestOptions = {
  /** Instead of the default for requests with or without a body. */
  readonly method?: "DELETE";
  readonly idleSeconds?: number;
  readonly signal?: AbortSignal;
};

const maxResponseBytes = 256 * 1024 * 1024;
const maxLineCharacters = 64 * 1024 * 1024;
/** Longer than loading any model or processing any prompt takes. */
const streamIdleSeconds = 3600;
const defaultIdleSeconds = 60;

export async function openServerClient(flags: ServerFlags): Promise<ServerClient> {
  const environment = readClientEnvironment();
  const address = resolveAddress(flags, environment);
  const apiKeyFile = flags.apiKeyFile ?? environment.apiKeyFile;
  const key = await readKey(flags.apiKeyFile === undefined ? environment.apiKey : undefined, apiKeyFile);
  const { host } = new URL(address.url);
  const outbound = createOutbound({ privateHosts: [host.includes(":") ? host : `${host}:${address.port}`] });
  const request: SendRequest = async (path, options) => {
    try {
      return await outbound.request(new URL(address.url + path), {
        allowPlainHttp: true,
        maxRedirects: 0,
        idleSeconds: defaultIdleSeconds,
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...options,
      });
    } catch (error) {
      throw toCallFailure(error, address);
    }
  };
  const connection = { request, address, hasKey: key !== undefined };
  return {
    address,
    isNamed: flags.host !== undefined || environment.host !== undefined,
    apiKeyFile,
    apiKey: key,
    request: (path, body, options = {}) => requestJson(connection, path, { ...options, body }),
    stream: (path, body, signal) => streamObjects(connection, path, { body, ...(signal && { signal }) }),
    streamAfterLoad: (path, body, signal) => {
      const headers = { accept: "text/event-stream" };
      return streamObjects(connection, path, { body, headers, ...(signal && { signal }) });
    },
    hasBlob: async (digest) => {
      await using response = await request(`/api/blobs/${digest}`, { method: "HEAD" });
      if (response.status !== 200 && response.status !== 404)
        throw await readErrorResponse(response, contextOf(connection));
      return response.status === 200;
    },
    upload: (digest, bytes, signal) => uploadBlob(connection, digest, { bytes, ...(signal && { signal }) }),
    [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose](),
  };
}

type SendRequest = (
  path: string,
  options: Parameters<ReturnType<typeof createOutbound>["request"]>[1],
) => Promise<OutboundResponse>;

type Connection = {
  readonly request: SendRequest;
  readonly address: ServerAddress;
  readonly hasKey: boolean;
};

function resolveAddress({ host }: ServerFlags, environment: ClientEnvironment): ServerAddress {
  if (host !== undefined) return parseServerAddress(host);
  if (environment.host === undefined) return defaultServerAddress(environment.port);
  const { text, name } = environment.host;
  // HEARTH_HOST and HEARTH_PORT are separate settings of the server, so a bare host is combined with that port.
  const isBare = name === "HEARTH_HOST" && environment.port !== undefined && /^[^:/]+$/u.test(text);
  return parseServerAddress(isBare ? `${text}:${environment.port}` : text, name);
}

async function readKey(key: string | undefined, file: string | undefined): Promise<string | undefined> {
  if (key !== undefined || file === undefined) return key;
  try {
    return (await readFile(file, "utf8")).trim().slice(0, 1024);
  } catch (error) {
    throw callFailure({ kind: "key-file-unreadable", file }, { cause: error });
  }
}

type RequestWithBody = RequestOptions & {
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

async function requestJson(
  connection: Connection,
  path: string,
  { body, method, idleSeconds, signal }: RequestWithBody,
): Promise<unknown> {
  await using response = await connection.request(path, {
    ...encodeBody(body),
    ...(method && { method }),
    ...(signal && { signal }),
    ...(idleSeconds === undefined ? {} : { idleSeconds }),
  });
  if (response.status >= 300) throw await readErrorResponse(response, contextOf(connection, body));
  const text = await withOutboundErrors(
    async () => (await response.readAll(maxResponseBytes)).toString("utf8"),
    connection,
  );
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw callFailure({ kind: "unexpected-server", url: connection.address.url });
  }
}

async function* streamObjects(
  connection: Connection,
  path: string,
  { body, headers, signal }: RequestWithBody,
): AsyncGenerator<StreamedObject> {
  await using response = await connection.request(path, {
    ...encodeBody(body, headers),
    idleSeconds: streamIdleSeconds,
    ...(signal && { signal }),
  });
  if (response.status >= 300) throw await readErrorResponse(response, contextOf(connection, body));
  try {
    for await (const line of readLines(response.body)) {
      const object = readStreamNotice(line) ?? parseObject(line.replace(/^data: /u, ""), connection);
      const error = readStreamedError(object, contextOf(connection, body));
      if (error !== undefined) throw error;
      yield object;
    }
  } catch (error) {
    throw toCallFailure(error, connection.address);
  }
}

async function uploadBlob(
  connection: Connection,
  digest: string,
  { bytes, signal }: { readonly bytes: AsyncIterable<Uint8Array>; readonly signal?: AbortSignal },
): Promise<void> {
  await using response = await connection.request(`/api/blobs/${digest}`, {
    method: "POST",
    body: bytes,
    idleSeconds: streamIdleSeconds,
    ...(signal && { signal }),
  });
  if (response.status >= 300) throw await readErrorResponse(response, contextOf(connection));
}

function encodeBody(body: unknown, added: Readonly<Record<string, string>> = {}) {
  if (body === undefined) return { method: "GET" } as const;
  const headers = { "content-type": "application/json", ...added };
  return { method: "POST", headers, body: Buffer.from(JSON.stringify(body)) } as const;
}

async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > maxLineCharacters) throw callFailure({ kind: "response-truncated" });
    for (const line of lines) if (line.trim() !== "" && line !== keepAliveLine) yield line;
  }
  if (rest.trim() !== "") yield rest;
}

/** Of server-sent events. */
const keepAliveLine = ":";

function parseObject(line: string, { address }: Connection): StreamedObject {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null) return { ...value };
  } catch {
    // Handled below, like a value that is not an object.
  }
  throw callFailure({ kind: "unexpected-server", url: address.url });
}

function contextOf({ address, hasKey }: Connection, body?: unknown): RequestContext {
  return { url: address.url, hasKey, body };
}

async function withOutboundErrors<Result>(
  work: () => Promise<Result>,
  { address }: Connection,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw toCallFailure(error, address);
  }
}

function toCallFailure(error: unknown, { url, isLocal }: ServerAddress): unknown {
  if (!(error instanceof OutboundError)) return error;
  const cut = ["connection-broken", "response-too-large"].includes(error.reason);
  if (cut) return callFailure({ kind: "response-truncated" }, { cause: error });
  const reason = unreachableReasons[error.reason] ?? "the connection failed";
  const isFree = error.reason === "connection-refused";
  return callFailure({ kind: "server-unreachable", url, reason, isLocal, isFree }, { cause: error });
}

const unreachableReasons: Readonly<Partial<Record<OutboundError["reason"], string>>> = {
  "no-address": "could not resolve host",
  "connection-refused": "connection refused",
  "certificate-untrusted": "its certificate is not trusted",
  "timed-out": "the request timed out",
  "scheme-forbidden": "only http and https are supported",
};
