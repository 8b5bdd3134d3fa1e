/**
 * @module
 * Speaking to registries of models: which host a name means, tokens and credentials, manifests, where blobs are.
 * Promises that credentials go to the host they are for and to its own token server alone, that every answer is
 * bounded, and that what a registry says is checked before it is believed. Everything goes out through the one
 * outbound client. Imported by `transfers/` and by whoever builds parts.
 */
import type { Outbound, OutboundAnswer, RequestPlan } from "@hearth-and-keep/outbound-http";
import { modelFailure } from "../model-failure.ts";
import { type JsonFields, parseFields, ShapeError, textField } from "../store/json-fields.ts";
import { readRealm } from "./allowed-token-realm.ts";
import type { Credential, Credentials } from "./credentials.ts";
import { beforeDeadline } from "./deadline.ts";
import { registryHost } from "./known-hosts.ts";
import { explainOutbound } from "./map-outbound-error.ts";
import { type Challenge, readChallenge } from "./read-challenge.ts";

export type RegistryPlace = {
  /** With its port where it has one, as names say it. */
  readonly host: string;
  /** As in `library/model`. */
  readonly repository: string;
  /** Spoken to by http; only hosts that the settings name as private are. */
  readonly isPlain: boolean;
};

export type RegistryParts = {
  readonly outbound: Pick<Outbound, "request">;
  readonly credentials: Credentials;
};

export type RegistryQuestion = {
  readonly method?: NonNullable<RequestPlan["method"]>;
  /** Below the repository, as in `manifests/latest`; or an address, which gets credentials at the registry's own origin alone. */
  readonly target: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** A stream is made anew when the question is asked again with a fresh token. */
  readonly body?: Uint8Array | (() => AsyncIterable<Uint8Array>);
  /** None unless told: then a redirect is the answer. */
  readonly mostRedirects?: number;
  /** What a token is asked for; `pull` unless told. */
  readonly actions?: "pull" | "pull,push";
  readonly idleSeconds?: number;
  readonly signal: AbortSignal;
};

export type Registry = {
  /** As the registry is spoken to. */
  readonly host: string;
  readonly origin: URL;
  /** The address of a question's target. */
  resolve(target: string | URL): URL;
  /**
   * An answer of any status but 401, which throws `registry-refused` after everything we have was tried. Its body
   * must be read, or the answer disposed. Throws failures of ours only, or what the signal was aborted with.
   */
  ask(question: RegistryQuestion): Promise<OutboundAnswer>;
};

const mostTokenBytes = 64 * 1024;
const longestToken = 32 * 1024;
const mostTokenRedirects = 3;

/** One repository of one registry. Tokens are kept as long as this is. */
export function openRegistry(place: RegistryPlace, parts: RegistryParts): Registry {
  const host = registryHost(place.host);
  const origin = URL.parse(`${place.isPlain ? "http" : "https"}://${host}`);
  if (origin === null || origin.pathname !== "/") throw modelFailure({ kind: "name-invalid", name: host });
  const tokens = new Map<string, string>();
  const session: Session = { place, parts, host, origin, tokens };
  return {
    host,
    origin,
    resolve: (target) => addressOf(target, session),
    ask: async (question) => {
      try {
        return await askWithToken(question, session);
      } catch (problem) {
        throw explainOutbound(problem);
      }
    },
  };
}

type Session = {
  readonly place: RegistryPlace;
  readonly parts: RegistryParts;
  readonly host: string;
  readonly origin: URL;
  /** The authorization that worked last, by what it is for. */
  readonly tokens: Map<string, string>;
};

async function askWithToken(question: RegistryQuestion, session: Session): Promise<OutboundAnswer> {
  const { tokens, parts, host } = session;
  const isHome = addressOf(question.target, session).origin === session.origin.origin;
  const credential = isHome ? parts.credentials.forHost(host) : undefined;
  const actions = question.actions ?? "pull";
  const known = isHome ? (tokens.get(actions) ?? bearerOf(credential)) : undefined;
  const first = await send(question, known, session);
  if (first.status !== 401) return first;
  const challenge = readChallenge(first.headers["www-authenticate"]);
  await first[Symbol.asyncDispose]();
  const fresh = isHome ? await meetChallenge(challenge, { question, credential, session }) : undefined;
  if (fresh === undefined || fresh === known) throw refused(session);
  tokens.set(actions, fresh);
  const second = await send(question, fresh, session);
  if (second.status !== 401) return second;
  tokens.delete(actions);
  await second[Symbol.asyncDispose]();
  throw refused(session);
}

function addressOf(target: string | URL, { origin, place }: Session): URL {
  return typeof target === "string" ? new URL(`/v2/${place.repository}/${target}`, origin) : target;
}

function send(
  question: RegistryQuestion,
  authorization: string | undefined,
  session: Session,
): Promise<OutboundAnswer> {
  const { method = "GET", headers, body, mostRedirects = 0, idleSeconds, signal } = question;
  return session.parts.outbound.request(addressOf(question.target, session), {
    method,
    mostRedirects,
    signal,
    isInsecure: session.place.isPlain,
    sentBy: session.origin,
    ...(headers === undefined ? {} : { headers }),
    ...(idleSeconds === undefined ? {} : { idleSeconds }),
    ...(authorization === undefined ? {} : { authorization }),
    ...(body === undefined ? {} : { body: typeof body === "function" ? body() : body }),
  });
}

type Meeting = {
  readonly question: RegistryQuestion;
  readonly credential: Credential | undefined;
  readonly session: Session;
};

/** The authorization that the challenge asks for; undefined when we have none. */
async function meetChallenge(
  challenge: Challenge | undefined,
  { question, credential, session }: Meeting,
): Promise<string | undefined> {
  // A token of the hub's own kind was sent already, and nobody makes another of it.
  if (challenge === undefined || credential?.kind === "bearer") return undefined;
  const basic = credential === undefined ? undefined : basicOf(credential);
  if (challenge.scheme === "basic") return basic;
  const realm = readRealm(challenge.realm, session.origin);
  if (realm === undefined) throw invalid(session, "it sends to a token server that is not its own");
  const { service, scope = `repository:${session.place.repository}:${question.actions ?? "pull"}` } =
    challenge;
  if (service !== undefined) realm.searchParams.set("service", service);
  for (const each of scope.split(" ")) realm.searchParams.append("scope", each);
  return beforeDeadline({ host: realm.host, signal: question.signal }, async (signal) => {
    await using answer = await session.parts.outbound.request(realm, {
      mostRedirects: mostTokenRedirects,
      signal,
      isInsecure: session.place.isPlain,
      headers: { accept: "application/json" },
      ...(basic === undefined ? {} : { authorization: basic }),
    });
    // It may well be over in a moment, unlike a refusal.
    if (answer.status === 429 || answer.status >= 500) {
      throw modelFailure({ kind: "registry-unreachable", host: realm.host, reason: "refused" });
    }
    if (answer.status !== 200) throw refused(session);
    return `Bearer ${readToken(await answer.readWhole(mostTokenBytes), session)}`;
  });
}

function readToken(content: Buffer, session: Session): string {
  try {
    const fields: JsonFields = parseFields(content);
    const token = textField(fields, "token", longestToken) || textField(fields, "access_token", longestToken);
    // What goes into a header must not be able to end it.
    if (token !== undefined && /^[\x21-\x7e]+$/u.test(token)) return token;
  } catch (problem) {
    if (!(problem instanceof ShapeError)) throw problem;
  }
  throw invalid(session, "its token server gives no token");
}

function bearerOf(credential: Credential | undefined): string | undefined {
  return credential?.kind === "bearer" ? `Bearer ${credential.token}` : undefined;
}

function basicOf(credential: Extract<Credential, { kind: "basic" }>): string {
  return `Basic ${Buffer.from(`${credential.name}:${credential.password}`).toString("base64")}`;
}

function refused({ host }: Session): Error {
  return modelFailure({ kind: "registry-refused", host, status: 401 });
}

function invalid({ host }: Session, reason: string): Error {
  return modelFailure({ kind: "registry-answer-invalid", host, reason });
}
