import {
  type ClientRequest,
  type Agent as HttpAgent,
  type IncomingMessage,
  type RequestOptions,
  request as requestByHttp,
} from "node:http";
import { type Agent as HttpsAgent, request as requestByHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { codeOf, explainProblem } from "./explain-problem.ts";
import { OutboundProblem, type RequestPlan } from "./outbound.ts";

/** One request to one host whose rules were checked. */
export type Hop = {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly plan: RequestPlan;
  readonly idleSeconds: number;
  readonly connection: {
    readonly agent: HttpAgent | HttpsAgent;
    readonly lookup: LookupFunction;
  };
};

/** Node's sockets read 64 KiB at a time; this many bytes wait for a reader before the sender is held back. */
const readAheadBytes = 1024 * 1024;
const mostHeadBytes = 16 * 1024;

/** Sends the request and waits for the head of its answer. */
export async function exchange(hop: Hop): Promise<IncomingMessage> {
  hop.plan.signal?.throwIfAborted();
  const first = await tryOnce(hop, hop.connection.agent);
  // The server may close a connection that was kept just as we use it again; then nothing was read of the request.
  return first === "kept-connection-was-closed" ? await tryFresh(hop) : first;
}

async function tryFresh(hop: Hop): Promise<IncomingMessage> {
  const second = await tryOnce(hop, false);
  if (second === "kept-connection-was-closed") throw new OutboundProblem(hop.url.host, "connection-broken");
  return second;
}

async function tryOnce(
  hop: Hop,
  agent: HttpAgent | false,
): Promise<IncomingMessage | "kept-connection-was-closed"> {
  const { url, plan } = hop;
  let request: ClientRequest | undefined;
  try {
    request = open(hop, agent);
    return await waitForHead(request, hop);
  } catch (problem) {
    request?.destroy();
    if (plan.signal?.aborted === true) throw plan.signal.reason;
    if (problem instanceof BodyProblem) throw problem.cause;
    const isRepeatable =
      ["GET", "HEAD", "PUT"].includes(plan.method ?? "GET") &&
      (plan.body === undefined || plan.body instanceof Uint8Array);
    const isClosed = ["ECONNRESET", "EPIPE"].includes(codeOf(problem));
    if (request?.reusedSocket === true && isClosed && isRepeatable) return "kept-connection-was-closed";
    throw explainProblem(url.host, problem);
  }
}

function open({ url, headers, plan, connection }: Hop, agent: HttpAgent | false): ClientRequest {
  const options: RequestOptions & { readonly highWaterMark: number } = {
    method: plan.method ?? "GET",
    headers,
    agent,
    lookup: connection.lookup,
    maxHeaderSize: mostHeadBytes,
    highWaterMark: readAheadBytes,
  };
  return url.protocol === "https:" ? requestByHttps(url, options) : requestByHttp(url, options);
}

async function waitForHead(
  request: ClientRequest,
  { url, plan, idleSeconds }: Hop,
): Promise<IncomingMessage> {
  const abort = (): void => void request.destroy();
  const timer = setTimeout(() => {
    request.destroy(new OutboundProblem(url.host, "timed-out"));
  }, idleSeconds * 1000);
  plan.signal?.addEventListener("abort", abort, { once: true });
  try {
    return await new Promise<IncomingMessage>((settle, fail) => {
      request.once("response", (message) => {
        // Whoever reads it is told otherwise; when nobody does, nobody has to be told.
        message.on("error", () => {});
        // What was answered before all of it was sent leaves a connection that is good for nothing.
        message.once("close", () => {
          if (!request.writableEnded) request.destroy();
        });
        settle(message);
      });
      // Stays for good: a connection may break again after it failed or was answered.
      request.on("error", fail);
      request.once("close", () => fail(new OutboundProblem(url.host, "connection-broken")));
      send(request, plan, timer).catch((problem: unknown) => fail(new BodyProblem(problem)));
    });
  } finally {
    clearTimeout(timer);
    plan.signal?.removeEventListener("abort", abort);
  }
}

/** What we were to send could not be had: no fault of the other side's, so the caller gets it as it is. */
class BodyProblem extends Error {
  override readonly name = "BodyProblem";

  constructor(cause: unknown) {
    super("Cannot read what is to be sent", { cause });
  }
}

async function send(request: ClientRequest, { body }: RequestPlan, timer: NodeJS.Timeout): Promise<void> {
  if (body === undefined || body instanceof Uint8Array) {
    request.end(body);
    return;
  }
  let isAnswered = false;
  request.once("response", () => {
    isAnswered = true;
  });
  for await (const chunk of body) {
    // An answer before the end of what we send is a refusal; the rest is of no use to anybody.
    if (isAnswered || request.destroyed) return;
    timer.refresh();
    if (!request.write(chunk)) await untilWritable(request);
    timer.refresh();
  }
  request.end();
}

function untilWritable(request: ClientRequest): Promise<void> {
  return new Promise((settle) => {
    const go = (): void => {
      for (const event of ["drain", "close", "response"]) request.off(event, go);
      settle();
    };
    for (const event of ["drain", "close", "response"]) request.on(event, go);
  });
}
