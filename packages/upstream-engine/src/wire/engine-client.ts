/**
 * @module
 * The way to an engine's own HTTP server, on a UNIX socket or at an address: JSON there, JSON or server-sent events
 * back, over connections that are kept open. Promises that every answer is bounded, that a reader who is slow slows
 * the engine, and that a signal, or leaving the loop, closes the connection at once.
 * It checks no address: they are our own sockets or come from the operator's settings, never from a request.
 * Imported by the drivers of this package.
 */
import { Agent, type ClientRequest, type IncomingMessage, request as openRequest } from "node:http";
import { request as openSecureRequest, Agent as SecureAgent } from "node:https";
import { readEvents } from "./read-events.ts";
import { unlessAborted } from "./unless-aborted.ts";
import { WireError } from "./wire-error.ts";

export type EngineAddress = URL | { readonly socketPath: string };

export type EngineClientPlan = {
  readonly address: EngineAddress;
  /** The whole header, as in "Bearer …". */
  readonly authorization?: string;
  /** Further questions wait for a connection. */
  readonly mostConnections?: number;
  /** Certificates to trust beside those of the machine, as PEM. */
  readonly certificateAuthority?: string;
};

export type EngineHttpRequest = {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly body?: unknown;
};

/** Whatever the status was; `value` is undefined when the body is no JSON. */
export type EngineResponse = {
  readonly status: number;
  readonly value: unknown;
  /** How long the engine wants to be left alone. */
  readonly retryAfterSeconds?: number;
};

export type EngineClient = Disposable & {
  ask(question: EngineHttpRequest, signal: AbortSignal): Promise<EngineResponse>;
  /** The parsed JSON of each event, until `[DONE]` or the end; throws a WireProblem `refused` unless it is answered with 200. */
  stream(question: EngineHttpRequest, signal: AbortSignal): AsyncGenerator<unknown, void, undefined>;
};

const mostAnswerBytes = 256 * 1024 ** 2;
const mostRefusalBytes = 64 * 1024;
/** Heads that only say that an answer will come ("102 Processing"). */
const mostPromises = 100;

export function createEngineClient(plan: EngineClientPlan): EngineClient {
  const isSecure = plan.address instanceof URL && plan.address.protocol === "https:";
  const kept = { keepAlive: true, maxSockets: plan.mostConnections ?? 256 };
  const agent = isSecure ? new SecureAgent({ ...kept, ca: plan.certificateAuthority }) : new Agent(kept);
  const open = (question: EngineHttpRequest, signal: AbortSignal): Promise<IncomingMessage> =>
    send(question, { plan, agent, isSecure, signal });
  return {
    async ask(question, signal) {
      try {
        const response = await open(question, signal);
        const text = await readText(response, mostAnswerBytes);
        return { status: response.statusCode ?? 0, value: parse(text), ...readRetryAfter(response) };
      } catch (problem) {
        throw nameProblem(problem, signal);
      }
    },
    async *stream(question, signal) {
      try {
        const response = await open(question, signal);
        const status = response.statusCode ?? 0;
        if (status === 200) yield* readEvents(response);
        else {
          const value = parse(await readText(response, mostRefusalBytes));
          throw new WireError({ kind: "refused", status, value, ...readRetryAfter(response) });
        }
      } catch (problem) {
        throw nameProblem(problem, signal);
      }
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

type Way = {
  readonly plan: EngineClientPlan;
  /** False opens a connection for this question alone. */
  readonly agent: Agent | false;
  readonly isSecure: boolean;
  readonly signal: AbortSignal;
};

/**
 * A connection that was kept may be closed by the other side while a question is on its way; one more try is safe
 * then, on a new connection: an engine that closes one closes all that were idle as long.
 */
async function send(question: EngineHttpRequest, way: Way): Promise<IncomingMessage> {
  try {
    return await sendOnce(question, way);
  } catch (problem) {
    if (!(problem instanceof WireError) || problem.detail.kind !== "closed-before") throw problem;
    return sendOnce(question, { ...way, agent: false });
  }
}

function sendOnce(question: EngineHttpRequest, way: Way): Promise<IncomingMessage> {
  way.signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const body = question.body === undefined ? undefined : JSON.stringify(question.body);
  const sent = openTo(question, { ...way, body });
  sent.on("response", resolve);
  sent.on("error", (cause: NodeJS.ErrnoException) => {
    const isClosedBefore = sent.reusedSocket && cause.code === "ECONNRESET" && !way.signal.aborted;
    reject(new WireError({ kind: isClosedBefore ? "closed-before" : "unreachable" }, cause));
  });
  refuseOtherAnswers(sent, reject);
  sent.end(body);
  return unlessAborted(promise, way.signal);
}

/** What is neither an answer nor an error: "101 Switching Protocols", promises without end, an end without either. */
function refuseOtherAnswers(sent: ClientRequest, reject: (problem: WireError) => void): void {
  const refuse = (): void => {
    reject(new WireError({ kind: "not-understood" }));
    sent.destroy();
  };
  let promises = 0;
  sent.on("information", () => {
    promises += 1;
    if (promises > mostPromises) refuse();
  });
  sent.on("upgrade", (_response, socket) => {
    refuse();
    // An upgraded connection is no longer the request's own.
    socket.destroy();
  });
  sent.on("close", () => reject(new WireError({ kind: "unreachable" })));
}

function openTo(
  question: EngineHttpRequest,
  way: Way & { readonly body: string | undefined },
): ClientRequest {
  const { plan, agent, isSecure, signal, body } = way;
  const { address, authorization } = plan;
  const options = {
    method: question.method ?? (body === undefined ? "GET" : "POST"),
    agent,
    signal,
    ...(plan.certificateAuthority === undefined ? {} : { ca: plan.certificateAuthority }),
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
    },
  };
  if (!(address instanceof URL)) {
    // The name stands in the header only: a socket has no host.
    return openRequest({ ...options, ...address, path: question.path, host: "localhost" });
  }
  const url = new URL(address.pathname.replace(/\/$/u, "") + question.path, address);
  return isSecure ? openSecureRequest(url, options) : openRequest(url, options);
}

/** Given in seconds; a date tells nothing, because clocks differ. */
function readRetryAfter({ headers }: IncomingMessage): { readonly retryAfterSeconds?: number } {
  const { "retry-after": text = "" } = headers;
  return /^\d{1,9}$/u.test(text) ? { retryAfterSeconds: Number(text) } : {};
}

async function readText(response: IncomingMessage, mostBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response) {
    // A response without an encoding gives buffers only.
    const piece = part as Buffer;
    bytes += piece.length;
    if (bytes > mostBytes) throw new WireError({ kind: "too-large" });
    parts.push(piece);
  }
  return Buffer.concat(parts).toString("utf8");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // An engine answers its refusals in plain words at times.
    return undefined;
  }
}

/** Whoever hung up hears its own reason; everybody else what became of the connection. */
function nameProblem(problem: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  return problem instanceof WireError ? problem : new WireError({ kind: "cut-off" }, problem);
}
