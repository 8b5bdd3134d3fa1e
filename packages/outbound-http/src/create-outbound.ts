import type { Agent as HttpAgent } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import { exchange, type Hop, loadHttp, loadHttps } from "./exchange.ts";
import { createHostRules, type HostRules } from "./host-rules.ts";
import {
  type Outbound,
  OutboundError,
  type OutboundRequestOptions,
  type OutboundResponse,
  type OutboundRules,
} from "./outbound.ts";
import { releaseConnection, wrapResponse } from "./response.ts";

/** Created when they are first needed. */
type Agents = { readonly http: () => HttpAgent; readonly https: () => HttpsAgent };

const defaultIdleSeconds = 30;
const defaultMaxRedirects = 5;
const keepAliveMilliseconds = 15_000;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);
const credentialHeaders = new Set(["authorization", "cookie", "proxy-authorization", "host"]);

export function createOutbound(rules: OutboundRules): Outbound {
  const hosts = createHostRules(rules.privateHosts);
  const pooling = { keepAlive: true, maxFreeSockets: 16, timeout: keepAliveMilliseconds };
  const opened: { http?: HttpAgent; https?: HttpsAgent } = {};
  const agents: Agents = {
    http: () => (opened.http ??= new (loadHttp().Agent)(pooling)),
    https: () => (opened.https ??= new (loadHttps().Agent)(pooling)),
  };
  return {
    request: (url, options = {}) => followRedirects(url, options, { hosts, agents }),
    [Symbol.asyncDispose]() {
      opened.http?.destroy();
      opened.https?.destroy();
      return Promise.resolve();
    },
  };
}

type HopDependencies = { readonly hosts: HostRules; readonly agents: Agents };

/** Checks the rules again at every hop. */
async function followRedirects(
  start: URL,
  options: OutboundRequestOptions,
  dependencies: HopDependencies,
): Promise<OutboundResponse> {
  const { maxRedirects = defaultMaxRedirects, signal, idleSeconds = defaultIdleSeconds } = options;
  const isFollowed = maxRedirects > 0 && ["GET", "HEAD"].includes(options.method ?? "GET");
  let { authorization } = options;
  let url = start;
  for (let redirects = 0; ; redirects += 1) {
    const message = await exchange(prepareHop({ url, start, options, authorization }, dependencies));
    if (!isFollowed || !redirectStatuses.has(message.statusCode ?? 0)) {
      return wrapResponse(message, { url, idleSeconds, signal });
    }
    releaseConnection(message);
    if (redirects === maxRedirects) throw new OutboundError(start.host, "redirects-too-many");
    const next = readLocation(message.headers.location, url);
    if (next.origin !== url.origin) authorization = undefined;
    url = next;
  }
}

type Step = {
  readonly url: URL;
  readonly start: URL;
  readonly options: OutboundRequestOptions;
  readonly authorization: string | undefined;
};

function prepareHop({ url, start, options, authorization }: Step, { hosts, agents }: HopDependencies): Hop {
  const allowPrivate = [start, options.referrer ?? start].every((each) => hosts.isListed(each));
  const permissions = { allowPlainHttp: options.allowPlainHttp === true, allowPrivate };
  hosts.check(url, permissions);
  const { headers = {}, body, idleSeconds = defaultIdleSeconds } = options;
  const credential = Object.keys(headers).find((name) => credentialHeaders.has(name.toLowerCase()));
  if (credential !== undefined) throw new TypeError(`Cannot send "${credential}" to every hop`);
  return {
    url,
    options,
    idleSeconds,
    headers: {
      ...headers,
      ...(body instanceof Uint8Array ? { "content-length": String(body.length) } : {}),
      ...(authorization === undefined ? {} : { authorization }),
      "accept-encoding": "identity",
    },
    connection: {
      agent: url.protocol === "https:" ? agents.https() : agents.http(),
      lookup: hosts.lookupFor(url, permissions),
    },
  };
}

function readLocation(location: string | undefined, from: URL): URL {
  const next = location === undefined ? null : URL.parse(location, from.href);
  if (next === null) throw new OutboundError(from.host, "redirect-invalid");
  return next;
}
