/**
 * @module
 * A fake engine over real HTTP: errors, silence and interrupted responses on demand.
 * Imported by tests of the pool only.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type FakeEngine = AsyncDisposable & {
  readonly url: URL;
  /** The paths of all requests so far. */
  readonly requests: string[];
  /** How it responds from now on. */
  respond: (response: ServerResponse, request: IncomingMessage) => void;
  isHealthy: boolean;
  /** It accepts requests but never responds. */
  isSilent: boolean;
  /** The models it lists. */
  served: readonly string[];
  stop(): Promise<void>;
};

/** An engine with the OpenAI API whose responses a test controls; for faults and timing only. */
export async function startFakeEngine(
  respond: FakeEngine["respond"] = respondWith("Hello"),
): Promise<FakeEngine> {
  const server = createServer((request, response) => {
    const { url: path = "" } = request;
    if (engine.isSilent) engine.requests.push(path);
    // Several engines can share a host under different paths.
    else if (path.endsWith("/health")) response.writeHead(engine.isHealthy ? 200 : 500).end("{}");
    else if (path.endsWith("/v1/models")) {
      response.end(JSON.stringify({ data: engine.served.map((id) => ({ id, max_model_len: 100 })) }));
    } else {
      engine.requests.push(path);
      engine.respond(response, request);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has an AddressInfo.
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  const engine: FakeEngine = {
    url: new URL(`http://127.0.0.1:${port}`),
    requests: [],
    respond,
    isHealthy: true,
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

export function respondWith(text: string): FakeEngine["respond"] {
  return (response) => {
    response.write(chunk({ content: text }));
    response.end(`${chunk({}, "stop")}data: [DONE]\n\n`);
  };
}

export function rejectWith(
  status: number,
  headers: Readonly<Record<string, string>> = {},
): FakeEngine["respond"] {
  return (response) =>
    response.writeHead(status, headers).end('{"error":{"message":"internal message of the engine"}}');
}
