import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import type { EngineRequest } from "@hearth-and-keep/engine";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { makeTemporaryFolder, seededEnvironment } from "@hearth-and-keep/test-servers";
import { startTestServer, tiny } from "../apps/hearth/src/test/start-test-server.ts";

/** A request body as an agent sent it. */
export type AgentBody = Readonly<Record<string, unknown>>;

export type RecordedRequest = { readonly path: string; readonly body: AgentBody };

/** What an agent is started with. */
export type AgentRun = {
  /** The agent's home folder, which is also the folder that it works in. */
  readonly folder: string;
  readonly url: string;
  readonly model: string;
};

export type AgentCommand = {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
};

const run = promisify(execFile);
/** More than every agent needs for its instructions and tools. */
const contextTokens = 200_000;

export type ModelPlan = {
  readonly model: string;
  /** The tool that the model calls in its first turn. */
  readonly call: { readonly name: string; readonly arguments: object };
};

/**
 * Runs an agent as it was released against a server whose model calls a tool and then says that it is done, and returns
 * the requests that had tools, in order.
 */
export async function recordAgent(
  { model, call }: ModelPlan,
  prepare: (run: AgentRun) => Promise<AgentCommand>,
): Promise<readonly RecordedRequest[]> {
  await using folder = await makeTemporaryFolder("recorded-agent");
  await using server = await startTestServer({
    models: { [model]: tiny },
    script: callOnce(call),
    description: { contextTokens },
    limits: { contextTokens },
  });
  await using recorder = await startRecorder(server.url);
  const { program, args, environment } = await prepare({ folder: folder.path, url: recorder.url, model });
  // Codex waits for its standard input to end.
  const running = run(program, args, {
    cwd: folder.path,
    timeout: 120_000,
    env: { PATH: "/usr/bin:/bin", HOME: folder.path, ...seededEnvironment, ...environment },
  });
  running.child.stdin?.end();
  await running;
  return recorder.requests.filter(({ body }) => Array.isArray(body["tools"]) && body["tools"].length > 0);
}

function callOnce(toolCall: object): FakeEngineScript {
  return (request) => [
    {
      do: "write",
      text: hasResult(request) ? "Done" : `<tool_call>\n${JSON.stringify(toolCall)}\n</tool_call>`,
    },
    { do: "end", reason: "stop" },
  ];
}

function hasResult({ input }: EngineRequest): boolean {
  return input.type === "conversation" && input.conversation.messages.some(({ role }) => role === "tool");
}

type Recorder = AsyncDisposable & { readonly url: string; readonly requests: readonly RecordedRequest[] };

/** Forwards every request to the server and keeps the JSON bodies. */
async function startRecorder(target: string): Promise<Recorder> {
  const requests: RecordedRequest[] = [];
  const server = createServer((request, response) => {
    const forwarding = forward(request, response, target).then((recorded) => requests.push(...recorded));
    forwarding.catch(() => response.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  // A listening TCP server has an address of this type.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  target: string,
): Promise<readonly RecordedRequest[]> {
  const { method = "GET", url: path = "/" } = request;
  const sent = Buffer.concat(await Array.fromAsync(request));
  const answer = await fetch(`${target}${path}`, {
    method,
    headers: { "content-type": "application/json" },
    ...(sent.length === 0 ? {} : { body: sent }),
  });
  const contentType = answer.headers.get("content-type") ?? "application/json";
  const received = Buffer.from(await answer.arrayBuffer());
  response.writeHead(answer.status, { "content-type": contentType }).end(received);
  return sent.length === 0 ? [] : [{ path, body: JSON.parse(sent.toString("utf8")) }];
}
