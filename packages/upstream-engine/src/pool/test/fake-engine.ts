/**
 * @module
 * An engine that plays what a test says, over real HTTP: refusals, silence and cut-off answers on demand.
 * Imported by tests of the pool only.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type FakeEngine = AsyncDisposable & {
  readonly url: URL;
  /** Answers so far asked for, by path. */
  readonly asked: string[];
  /** What it does from now on. */
  play: (response: ServerResponse, request: IncomingMessage) => void;
  isWell: boolean;
  /** It takes questions and answers none. */
  isSilent: boolean;
  /** The names it says it serves. */
  served: readonly string[];
  stop(): Promise<void>;
};

/** An engine of OpenAI's interface that fails as a test tells it to; for faults and timing only. */
export async function playEngine(play: FakeEngine["play"] = say("Hello")): Promise<FakeEngine> {
  const server = createServer((request, response) => {
    const { url: path = "" } = request;
    if (engine.isSilent) engine.asked.push(path);
    // It may stand behind a path of a host that has several.
    else if (path.endsWith("/health")) response.writeHead(engine.isWell ? 200 : 500).end("{}");
    else if (path.endsWith("/v1/models")) {
      response.end(JSON.stringify({ data: engine.served.map((id) => ({ id, max_model_len: 100 })) }));
    } else {
      engine.asked.push(path);
      engine.play(response, request);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has such an address.
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  const engine: FakeEngine = {
    url: new URL(`http://127.0.0.1:${port}`),
    asked: [],
    play,
    isWell: true,
    isSilent: false,
    served: ["m"],
    stop,
    [Symbol.asyncDispose]: stop,
  };
  return engine;
}

export function chunk(delta: unknown, finish: string | null = null): string {
  return `data: ${JSON.stringify({ choices: [{ delta, finish_reason: finish }] })}\n\n`;
}

export function say(text: string): FakeEngine["play"] {
  return (response) => {
    response.write(chunk({ content: text }));
    response.end(`${chunk({}, "stop")}data: [DONE]\n\n`);
  };
}

export function refuse(status: number, headers: Readonly<Record<string, string>> = {}): FakeEngine["play"] {
  return (response) => response.writeHead(status, headers).end('{"error":{"message":"words of the engine"}}');
}
