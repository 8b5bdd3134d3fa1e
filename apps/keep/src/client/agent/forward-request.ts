import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Outbound, OutboundError, type OutboundResponse } from "@hearth-and-keep/outbound-http";
import type { ValueUse } from "@hearth-and-keep/vault-contract";
import {
  findOccurrences,
  isCredentialHeader,
  type Occurrence,
  type Placeholder,
  type UsableSecret,
} from "./placeholders.ts";
import type { ReleasedValues } from "./released-values.ts";

export type ForwardDependencies = {
  readonly placeholders: readonly Placeholder[];
  /** The value, which the server returns only for a request that the rule allows. Throws UseRefusedError. */
  readonly useValue: (secret: UsableSecret, use: ValueUse) => Promise<string>;
  /** Whether a person approves; asked once for each secret and host. */
  readonly approve: (secret: UsableSecret, host: string) => Promise<boolean>;
  /** Removed from every response. */
  readonly released: ReleasedValues;
  readonly outbound: Outbound;
};

/** Why a secret is not used for a request. */
export class UseRefusedError extends Error {
  override readonly name = "UseRefusedError";
}

type Target = { readonly host: string; readonly dependencies: ForwardDependencies };

type Method = ValueUse["method"];
const methods: readonly string[] = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
] satisfies readonly Method[];
const isMethod = (text: string): text is Method => methods.includes(text);

const maxRequestBytes = 32 * 1024 * 1024;
const maxResponseBytes = 1024 * 1024 * 1024;
/** A model may think for minutes before its first token. */
const idleSeconds = 300;
const maxPathCharacters = 2048;

/** Passes a request on, with a value in place of the placeholder in one of its headers, and its response without values. */
export async function forwardRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { host, dependencies }: Target,
): Promise<void> {
  const url = readUrl(request, host);
  if (url === undefined) return refuse(response, 400, "The request is for another host than the connection");
  const { method = "" } = request;
  if (!isMethod(method)) return refuse(response, 405, "This method is not passed on");
  const headers = readHeaders(request);
  if (headers === undefined) return refuse(response, 400, "A header is repeated");
  const occurrences = findOccurrences([...headers], dependencies.placeholders);
  const [occurrence] = occurrences;
  const objection = occurrence && findObjection(occurrences);
  if (objection !== undefined) return refuse(response, 403, objection);
  const body = await readBody(request);
  if (body === undefined) return refuse(response, 413, "The request is too large");
  if (occurrence !== undefined) {
    const use = { host, method, path: url.pathname };
    try {
      headers.set(occurrence.name, await replacePlaceholder(occurrence, use, dependencies));
    } catch (error) {
      if (error instanceof UseRefusedError) return refuse(response, 403, error.message);
      throw error;
    }
  }
  return send({ url, method, headers, body }, response, dependencies);
}

/** The URL that is sent is the one that is checked: normalized, and of the host of the connection. */
function readUrl({ url: target = "", headers }: IncomingMessage, host: string): URL | undefined {
  const named = headers.host?.toLowerCase().replace(/:443$/u, "");
  if (!target.startsWith("/") || named !== host) return undefined;
  const url = URL.parse(`https://${host}${target}`);
  const isSame = url?.host === host && url.username === "" && url.pathname.length <= maxPathCharacters;
  return isSame ? url : undefined;
}

/**
 * Headers of the connection, cookies, and those that ask for a part of a response or for compression are left out: a value
 * must not come back in parts or in a form that is not recognized.
 */
const omittedHeaders = new Set(
  "host connection keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade expect content-length accept-encoding cookie range if-range a-im".split(
    " ",
  ),
);

/** By name in lower case; undefined when one that may have a credential is repeated. */
function readHeaders({ headersDistinct, headers }: IncomingMessage): Map<string, string> | undefined {
  const named = new Set(headers.connection?.toLowerCase().split(/\s*,\s*/u));
  const read = new Map<string, string>();
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    if (omittedHeaders.has(name) || named.has(name)) continue;
    if (values.length > 1 && isCredentialHeader(name)) return undefined;
    read.set(name, values.join(", "));
  }
  return read;
}

function findObjection(occurrences: readonly Occurrence[]): string | undefined {
  if (occurrences.length > 1) return "A request may contain one placeholder, once";
  const [{ name } = { name: "" }] = occurrences;
  return isCredentialHeader(name) ? undefined : `A placeholder is not replaced in the header ${name}`;
}

async function replacePlaceholder(
  { placeholder: { secret }, replace }: Occurrence,
  use: ValueUse,
  { useValue, approve, released }: ForwardDependencies,
): Promise<string> {
  if (!secret.rule.hosts.includes(use.host))
    throw new UseRefusedError(`${secret.variable} may not be used for this host`);
  if (secret.rule.ask && !(await approve(secret, use.host)))
    throw new UseRefusedError(`The use of ${secret.variable} for this host was not approved`);
  const value = await useValue(secret, use);
  if (!/^[\t\x20-\x7E]+$/u.test(value))
    throw new UseRefusedError(`The value of ${secret.variable} cannot be in a header`);
  if (!released.add(value))
    throw new UseRefusedError(`The value of ${secret.variable} is too short to be recognized in responses`);
  return replace(value);
}

/** Undefined when it is too large. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    // Without an encoding, chunks are buffers.
    const buffer = chunk as Buffer;
    bytes += buffer.length;
    if (bytes > maxRequestBytes) return undefined;
    chunks.push(buffer);
  }
  return Buffer.concat(chunks, bytes);
}

type PreparedRequest = {
  readonly url: URL;
  readonly method: Method;
  readonly headers: Map<string, string>;
  readonly body: Buffer;
};

async function send(
  { url, method, headers, body }: PreparedRequest,
  response: ServerResponse,
  { outbound, released }: ForwardDependencies,
): Promise<void> {
  const leaving = new AbortController();
  response.once("close", () => leaving.abort());
  const authorization = headers.get("authorization");
  headers.delete("authorization");
  const hasBody = body.length > 0 || ["POST", "PUT", "PATCH"].includes(method);
  try {
    await using received = await outbound.request(url, {
      method,
      headers: Object.fromEntries(headers),
      ...(authorization === undefined ? {} : { authorization }),
      ...(hasBody ? { body } : {}),
      // The program decides whether it follows one, and then makes a request of its own.
      maxRedirects: 0,
      idleSeconds,
      signal: leaving.signal,
    });
    if (received.status === 206) return refuse(response, 502, "The host sent a part of a response");
    response.writeHead(received.status, maskHeaders(received, released));
    await pipeline(Readable.from(limitBytes(received.body)), released.createMask(), response);
  } catch (error) {
    if (!(error instanceof OutboundError) || response.headersSent) throw error;
    refuse(response, 502, `The host cannot be used: ${error.reason}`);
  }
}

/** Of the connection, of forms that are not passed on, and those that would lead around the proxy. */
const omittedResponseHeaders = new Set(
  "connection keep-alive proxy-authenticate proxy-connection te trailer transfer-encoding upgrade content-length content-encoding accept-ranges content-range alt-svc".split(
    " ",
  ),
);

function maskHeaders(
  { headers }: OutboundResponse,
  released: ReleasedValues,
): Readonly<Record<string, string | string[]>> {
  const masked: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || omittedResponseHeaders.has(name) || released.isIn(name)) continue;
    masked[name] = typeof value === "string" ? released.mask(value) : value.map(released.mask);
  }
  return masked;
}

async function* limitBytes(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxResponseBytes) throw new Error("The response is too large");
    yield chunk;
  }
}

export function refuse(response: ServerResponse, status: number, reason: string): void {
  // The rest of a request that was not read makes the connection useless.
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" });
  response.end(`Keep: ${reason}\n`);
}
