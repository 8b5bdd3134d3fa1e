import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { leave, wrapAnswer } from "./answer.ts";
import { exchange, type Hop } from "./exchange.ts";
import { createHostRules, type HostRules } from "./host-rules.ts";
import {
  type Outbound,
  type OutboundAnswer,
  OutboundProblem,
  type OutboundRules,
  type RequestPlan,
} from "./outbound.ts";

type Agents = { readonly http: HttpAgent; readonly https: HttpsAgent };

const defaultIdleSeconds = 30;
const defaultMostRedirects = 5;
const keptConnectionMilliseconds = 15_000;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);
const credentialHeaders = new Set(["authorization", "cookie", "proxy-authorization", "host"]);

export function createOutbound(rules: OutboundRules): Outbound {
  const hosts = createHostRules(rules.privateHosts);
  const keeping = { keepAlive: true, maxFreeSockets: 16, timeout: keptConnectionMilliseconds };
  const agents: Agents = { http: new HttpAgent(keeping), https: new HttpsAgent(keeping) };
  return {
    request: (url, plan = {}) => walk(url, plan, { hosts, agents }),
    [Symbol.asyncDispose]() {
      agents.http.destroy();
      agents.https.destroy();
      return Promise.resolve();
    },
  };
}

type WalkParts = { readonly hosts: HostRules; readonly agents: Agents };

/** Goes from redirect to redirect, and asks at each hop whether it may. */
async function walk(start: URL, plan: RequestPlan, parts: WalkParts): Promise<OutboundAnswer> {
  const { mostRedirects = defaultMostRedirects, signal, idleSeconds = defaultIdleSeconds } = plan;
  const isFollowed = mostRedirects > 0 && ["GET", "HEAD"].includes(plan.method ?? "GET");
  let authorization = plan.authorization;
  let url = start;
  for (let redirects = 0; ; redirects += 1) {
    const message = await exchange(planHop({ url, start, plan, authorization }, parts));
    if (!isFollowed || !redirectStatuses.has(message.statusCode ?? 0)) {
      return wrapAnswer(message, { url, idleSeconds, signal });
    }
    leave(message);
    if (redirects === mostRedirects) throw new OutboundProblem(start.host, "redirects-too-many");
    const next = readLocation(message.headers.location, url);
    if (next.origin !== url.origin) authorization = undefined;
    url = next;
  }
}

type Step = {
  readonly url: URL;
  readonly start: URL;
  readonly plan: RequestPlan;
  readonly authorization: string | undefined;
};

function planHop({ url, start, plan, authorization }: Step, parts: WalkParts): Hop {
  const mayBePrivate = [start, plan.sentBy ?? start].every((each) => parts.hosts.isListed(each));
  const consent = { isPlainMeant: plan.isInsecure === true, mayBePrivate };
  parts.hosts.check(url, consent);
  const { headers = {}, body, idleSeconds = defaultIdleSeconds } = plan;
  const smuggled = Object.keys(headers).find((name) => credentialHeaders.has(name.toLowerCase()));
  if (smuggled !== undefined) throw new TypeError(`Cannot send "${smuggled}" to every hop`);
  return {
    url,
    plan,
    idleSeconds,
    headers: {
      ...headers,
      ...(body instanceof Uint8Array ? { "content-length": String(body.length) } : {}),
      ...(authorization === undefined ? {} : { authorization }),
      "accept-encoding": "identity",
    },
    connection: {
      agent: url.protocol === "https:" ? parts.agents.https : parts.agents.http,
      lookup: parts.hosts.lookupFor(url, consent),
    },
  };
}

function readLocation(location: string | undefined, from: URL): URL {
  const next = location === undefined ? null : URL.parse(location, from.href);
  if (next === null) throw new OutboundProblem(from.host, "redirect-invalid");
  return next;
}
