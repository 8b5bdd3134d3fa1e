import { type Outbound, OutboundError } from "@hearth-and-keep/outbound-http";
import type { CustomFetch } from "openid-client";
import { requestFailure } from "../failures.ts";

/** Requests to identity providers follow no redirects and are limited in time and response size. */
export const providerTimeoutSeconds = 10;
const maxResponseBytes = 1024 * 1024;

export type ProviderClient = {
  readonly outbound: Pick<Outbound, "request">;
  /** The provider is configured with plain http, on a loopback or private address. */
  readonly isInsecure: boolean;
  /** The provider's display name. */
  readonly name: string;
};

export type ProviderRequest = {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly authorization?: string;
  readonly body?: Uint8Array;
};

type ProviderResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly bytes: Buffer;
};

/** Sends one request. Throws "provider-unavailable" unless a complete response arrives in time. */
export async function sendProviderRequest(
  url: URL,
  request: ProviderRequest,
  { outbound, isInsecure, name }: ProviderClient,
): Promise<ProviderResponse> {
  const signal = AbortSignal.timeout(providerTimeoutSeconds * 1000);
  try {
    await using response = await outbound.request(url, {
      ...request,
      headers: { ...request.headers, "user-agent": "keep" },
      allowPlainHttp: isInsecure,
      maxRedirects: 0,
      idleSeconds: providerTimeoutSeconds,
      signal,
    });
    return {
      status: response.status,
      headers: response.headers,
      bytes: await response.readAll(maxResponseBytes),
    };
  } catch (error) {
    if (!(error instanceof OutboundError) && !signal.aborted) throw error;
    throw requestFailure({ kind: "provider-unavailable", provider: name }, { cause: error });
  }
}

/** Adapts the client to the fetch signature that openid-client expects; its only bodies are forms. */
export function asFetch(client: ProviderClient): CustomFetch {
  return async (address, { method, headers, body }) => {
    const { authorization, ...others } = headers;
    const response = await sendProviderRequest(
      new URL(address),
      {
        method: method === "POST" ? "POST" : "GET",
        headers: others,
        ...(authorization === undefined ? {} : { authorization }),
        ...(body instanceof URLSearchParams ? { body: Buffer.from(body.toString()) } : {}),
      },
      client,
    );
    // The Response constructor rejects other status codes.
    if (response.status < 200 || response.status > 599) {
      throw requestFailure({ kind: "provider-unavailable", provider: client.name });
    }
    const hasNoBody = [204, 205, 304].includes(response.status);
    return new Response(hasNoBody ? null : new Uint8Array(response.bytes), {
      status: response.status,
      headers: plainHeaders(response.headers),
    });
  };
}

function plainHeaders(headers: ProviderResponse["headers"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
}

export type JsonResponse = { readonly status: number; readonly value: unknown };

/** A response in JSON, unless the provider fails. */
export async function readJson(
  url: URL,
  client: ProviderClient,
  request: ProviderRequest,
): Promise<JsonResponse> {
  const headers = { ...request.headers, accept: "application/json" };
  const { status, bytes } = await sendProviderRequest(url, { ...request, headers }, client);
  const unavailable = (cause?: unknown) =>
    requestFailure({ kind: "provider-unavailable", provider: client.name }, { cause });
  if (status >= 500 || status === 429 || (status >= 300 && status < 400)) throw unavailable();
  try {
    return { status, value: JSON.parse(bytes.toString("utf8")) };
  } catch (error) {
    throw unavailable(error);
  }
}

/** A URL without a slash at its end. */
export function issuerOf(base: URL): string {
  return base.href.replace(/\/+$/u, "");
}

export function resolveUnder(base: URL, path: string): URL {
  return new URL(`${issuerOf(base)}/${path}`);
}
