/**
 * @module
 * A client of model registries (OCI distribution API): host aliases, tokens and credentials, manifests, blob
 * locations. Guarantees that credentials are sent only to the host they belong to and to its own token server, that
 * every response is bounded, and that registry data is validated before use. All requests go through the outbound
 * client. Imported by `transfers/` and by the composition root.
 */
import type { Outbound, OutboundRequestOptions, OutboundResponse } from "@hearth-and-keep/outbound-http";
import { Compile } from "typebox/compile";
import { modelFailure } from "../model-failure.ts";
import { parseJson, SchemaError } from "../store/parse-json.ts";
import { parseAllowedRealm } from "./allowed-token-realm.ts";
import type { Credential, Credentials } from "./credentials.ts";
import { withDeadline } from "./deadline.ts";
import { mapOutboundError } from "./map-outbound-error.ts";
import { type Challenge, parseChallenge } from "./parse-challenge.ts";
import { tokenSchema } from "./schema.ts";

export type RegistryAddress = {
  /** As in model names, including a port. */
  readonly host: string;
  /** E.g. `library/model`. */
  readonly repository: string;
  /** Use http; only hosts that the settings list as private allow it. */
  readonly isPlainHttp: boolean;
};

export type RegistryDependencies = {
  readonly outbound: Pick<Outbound, "request">;
  readonly credentials: Credentials;
};

export type RegistryRequest = {
  readonly method?: NonNullable<OutboundRequestOptions["method"]>;
  /** Relative to the repository, e.g. `manifests/latest`; or a URL, which gets credentials only at the registry's own origin. */
  readonly target: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** A function, so that the stream can be created again when the request is repeated with a new token. */
  readonly body?: Uint8Array | (() => AsyncIterable<Uint8Array>);
  /** 0 by default: a redirect is returned as the response. */
  readonly maxRedirects?: number;
  /** The scope of the token; `pull` by default. */
  readonly actions?: "pull" | "pull,push";
  readonly idleSeconds?: number;
  readonly signal: AbortSignal;
};

export type Registry = {
  /** The host that requests are sent to, after resolving aliases. */
  readonly host: string;
  readonly origin: URL;
  /**
   * Returns a response with any status except 401, which throws `registry-refused` once all credentials were tried.
   * The caller must read the body or dispose the response. Throws model failures or the signal's abort reason.
   */
  request(request: RegistryRequest): Promise<OutboundResponse>;
};

const maxTokenBytes = 64 * 1024;
const maxTokenRedirects = 3;
const tokenValidator = Compile(tokenSchema);

/** Opens one repository of a registry. Tokens are cached for the lifetime of the returned object. */
export function openRegistry(address: RegistryAddress, dependencies: RegistryDependencies): Registry {
  const host = registryHost(address.host);
  const origin = URL.parse(`${address.isPlainHttp ? "http" : "https"}://${host}`);
  if (origin === null || origin.pathname !== "/") throw modelFailure({ kind: "name-invalid", name: host });
  const tokens = new Map<string, string>();
  const session: Session = { address, dependencies, host, origin, tokens };
  return {
    host,
    origin,
    request: async (request) => {
      try {
        return await requestWithToken(request, session);
      } catch (error) {
        throw mapOutboundError(error);
      }
    },
  };
}

type Session = {
  readonly address: RegistryAddress;
  readonly dependencies: RegistryDependencies;
  readonly host: string;
  readonly origin: URL;
  /** The last authorization that worked, by action. */
  readonly tokens: Map<string, string>;
};

async function requestWithToken(request: RegistryRequest, session: Session): Promise<OutboundResponse> {
  const { tokens, dependencies, host } = session;
  const isSameOrigin = urlOf(request.target, session).origin === session.origin.origin;
  const credential = isSameOrigin ? dependencies.credentials.forHost(host) : undefined;
  const actions = request.actions ?? "pull";
  const cached = isSameOrigin ? (tokens.get(actions) ?? bearerOf(credential)) : undefined;
  const first = await send(request, cached, session);
  if (first.status !== 401) return first;
  const challenge = parseChallenge(first.headers["www-authenticate"]);
  await first[Symbol.asyncDispose]();
  const fresh = isSameOrigin ? await answerChallenge(challenge, { request, credential, session }) : undefined;
  if (fresh === undefined || fresh === cached) throw unauthorized(session);
  tokens.set(actions, fresh);
  const second = await send(request, fresh, session);
  if (second.status !== 401) return second;
  tokens.delete(actions);
  await second[Symbol.asyncDispose]();
  throw unauthorized(session);
}

function urlOf(target: string | URL, { origin, address }: Session): URL {
  return typeof target === "string" ? new URL(`/v2/${address.repository}/${target}`, origin) : target;
}

function send(
  request: RegistryRequest,
  authorization: string | undefined,
  session: Session,
): Promise<OutboundResponse> {
  const { method = "GET", headers, body, maxRedirects = 0, idleSeconds, signal } = request;
  return session.dependencies.outbound.request(urlOf(request.target, session), {
    method,
    maxRedirects,
    signal,
    allowPlainHttp: session.address.isPlainHttp,
    referrer: session.origin,
    ...(headers === undefined ? {} : { headers }),
    ...(idleSeconds === undefined ? {} : { idleSeconds }),
    ...(authorization === undefined ? {} : { authorization }),
    ...(body === undefined ? {} : { body: typeof body === "function" ? body() : body }),
  });
}

type ChallengeContext = {
  readonly request: RegistryRequest;
  readonly credential: Credential | undefined;
  readonly session: Session;
};

/** The authorization that the challenge requires; undefined when we have no suitable credential. */
async function answerChallenge(
  challenge: Challenge | undefined,
  { request, credential, session }: ChallengeContext,
): Promise<string | undefined> {
  // A bearer token was already sent with the first request, and cannot be exchanged for another.
  if (challenge === undefined || credential?.kind === "bearer") return undefined;
  const basic = credential === undefined ? undefined : basicOf(credential);
  if (challenge.scheme === "basic") return basic;
  const realm = parseAllowedRealm(challenge.realm, session.origin);
  if (realm === undefined)
    throw invalidResponse(session, "its token server is on a host that is not its own");
  const { service, scope = `repository:${session.address.repository}:${request.actions ?? "pull"}` } =
    challenge;
  if (service !== undefined) realm.searchParams.set("service", service);
  for (const each of scope.split(" ")) realm.searchParams.append("scope", each);
  return withDeadline({ host: realm.host, signal: request.signal }, async (signal) => {
    await using response = await session.dependencies.outbound.request(realm, {
      maxRedirects: maxTokenRedirects,
      signal,
      allowPlainHttp: session.address.isPlainHttp,
      headers: { accept: "application/json" },
      ...(basic === undefined ? {} : { authorization: basic }),
    });
    // Unlike a refusal, these are worth a retry.
    if (response.status === 429 || response.status >= 500) {
      throw modelFailure({ kind: "registry-unreachable", host: realm.host, reason: "refused" });
    }
    if (response.status !== 200) throw unauthorized(session);
    return `Bearer ${parseToken(await response.readAll(maxTokenBytes), session)}`;
  });
}

function parseToken(content: Buffer, session: Session): string {
  try {
    const fields = parseJson(content, tokenValidator);
    const token = fields.token || fields.access_token;
    // The token goes into a header, so it must not contain line breaks.
    if (token && /^[\x21-\x7e]+$/u.test(token)) return token;
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
  }
  throw invalidResponse(session, "its token server did not return a token");
}

function bearerOf(credential: Credential | undefined): string | undefined {
  return credential?.kind === "bearer" ? `Bearer ${credential.token}` : undefined;
}

function basicOf(credential: Extract<Credential, { kind: "basic" }>): string {
  return `Basic ${Buffer.from(`${credential.name}:${credential.password}`).toString("base64")}`;
}

function unauthorized({ host }: Session): Error {
  return modelFailure({ kind: "registry-refused", host, status: 401 });
}

function invalidResponse({ host }: Session, reason: string): Error {
  return modelFailure({ kind: "registry-response-invalid", host, reason });
}

/** The host of the registry API, where it differs from the host in model names. */
const registryHosts: Readonly<Record<string, string>> = {
  "hf.co": "huggingface.co",
  "docker.io": "registry-1.docker.io",
  "index.docker.io": "registry-1.docker.io",
};

/** Resolves a host of a model name, with its port, to the host that requests are sent to. */
function registryHost(host: string): string {
  const lowerCase = host.toLowerCase();
  return Object.hasOwn(registryHosts, lowerCase) ? (registryHosts[lowerCase] ?? lowerCase) : lowerCase;
}
