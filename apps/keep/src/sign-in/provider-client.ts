import { type Outbound, OutboundError } from "@hearth-and-keep/outbound-http";
import type { CustomFetch } from "openid-client";
import { requestFailure } from "../failures.ts";

/** How Keep speaks to identity providers: never along a redirect, never longer or more than this. */
export const providerSeconds = 10;
const mostAnswerBytes = 1024 * 1024;

export type ProviderCalls = {
  readonly outbound: Pick<Outbound, "request">;
  /** Plain http was configured for this provider, on a host of one's own. */
  readonly isInsecure: boolean;
  /** As people know the provider. */
  readonly name: string;
};

export type ProviderRequest = {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly authorization?: string;
  readonly body?: Uint8Array;
};

type ProviderAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly bytes: Buffer;
};

/** One exchange with a provider. Throws "provider-unavailable" when there is no whole answer in time. */
export async function callProvider(
  url: URL,
  request: ProviderRequest,
  { outbound, isInsecure, name }: ProviderCalls,
): Promise<ProviderAnswer> {
  const signal = AbortSignal.timeout(providerSeconds * 1000);
  try {
    await using answer = await outbound.request(url, {
      ...request,
      headers: { ...request.headers, "user-agent": "keep" },
      allowPlainHttp: isInsecure,
      maxRedirects: 0,
      idleSeconds: providerSeconds,
      signal,
    });
    return { status: answer.status, headers: answer.headers, bytes: await answer.readAll(mostAnswerBytes) };
  } catch (problem) {
    if (!(problem instanceof OutboundError) && !signal.aborted) throw problem;
    throw requestFailure({ kind: "provider-unavailable", provider: name }, { cause: problem });
  }
}

/** The same for the OpenID Connect client, which speaks in terms of fetch and sends forms alone. */
export function asFetch(calls: ProviderCalls): CustomFetch {
  return async (address, { method, headers, body }) => {
    const { authorization, ...others } = headers;
    const answer = await callProvider(
      new URL(address),
      {
        method: method === "POST" ? "POST" : "GET",
        headers: others,
        ...(authorization === undefined ? {} : { authorization }),
        ...(body instanceof URLSearchParams ? { body: Buffer.from(body.toString()) } : {}),
      },
      calls,
    );
    // A head that no Response can have is garbage from the provider.
    if (answer.status < 200 || answer.status > 599) {
      throw requestFailure({ kind: "provider-unavailable", provider: calls.name });
    }
    const bodyless = [204, 205, 304].includes(answer.status);
    return new Response(bodyless ? null : new Uint8Array(answer.bytes), {
      status: answer.status,
      headers: plainHeaders(answer.headers),
    });
  };
}

function plainHeaders(headers: ProviderAnswer["headers"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
}
