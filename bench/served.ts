import { execFile } from "node:child_process";
import { Agent, type IncomingMessage, request } from "node:http";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  makeTemporaryFolder,
  startProcess,
  type TestModelName,
  testModel,
} from "@hearth-and-keep/test-servers";
import type { Timed } from "./engine-under-test.ts";

export type Served = AsyncDisposable & { readonly url: string; readonly pid: number };

/** Environment variables of `hearth serve`. */
export type Settings = Readonly<Record<string, string>>;

/** A version of Hearth. */
export type HearthProgram = {
  readonly path: string;
  /** Matches the line that it prints once it listens; the first group is its URL. */
  readonly listening: RegExp;
};

export const presentProgram: HearthProgram = {
  path: fileURLToPath(new URL("../apps/hearth/bin/hearth.js", import.meta.url)),
  listening: /Hearth is listening on (\S+)/u,
};

/** Starts the real program in its own process, with one model named `model`. */
export function startHearth(file: TestModelName, settings: Settings): Promise<Served> {
  return startProgram(presentProgram, file, settings);
}

/** Like `startHearth`, for any version that has the commands `create` and `serve`. */
export async function startProgram(
  program: HearthProgram,
  file: TestModelName,
  settings: Settings,
): Promise<Served> {
  return startWithFile(program, await testModel(file), settings);
}

/** Like `startProgram`, with the path of any GGUF file. */
export async function startWithFile(
  program: HearthProgram,
  from: string,
  settings: Settings,
): Promise<Served> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await makeTemporaryFolder("served"));
  await createModel(program, from, folder.path);
  const served = stack.use(await serveModels(program, { HEARTH_MODELS: folder.path, ...settings }));
  const resources = stack.move();
  return { ...served, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Creates a model named `model` in a folder, from the path of a GGUF file. */
export async function createModel({ path }: HearthProgram, from: string, folder: string): Promise<void> {
  const args = [path, "create", "model", "--from", from, "--models", folder];
  await promisify(execFile)(process.execPath, args);
}

/** Starts a server; the settings name the folder of its models. */
export async function serveModels({ path, listening }: HearthProgram, settings: Settings): Promise<Served> {
  const { HEARTH_LOG_LEVEL: logLevel = "warn" } = settings;
  const hearth = await startProcess({
    command: process.execPath,
    arguments: [path, "serve", "--port", "0", "--log-level", logLevel],
    environment: settings,
    isReady: (output) => listening.test(output),
  });
  const url = listening.exec(hearth.output())?.[1] ?? "";
  return { url, pid: hearth.pid, [Symbol.asyncDispose]: () => hearth[Symbol.asyncDispose]() };
}

/** Keeps connections open, as client libraries do; there are enough sockets that no request waits for one. */
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Sends one streaming request and measures the time to its first and last byte and its output tokens. */
export function timeStream(url: string, body: unknown): Promise<Timed> {
  return timeResponse(url, { method: "POST", body: JSON.stringify(body) });
}

/** Sends one request without a body and measures the time to the first and last byte of its response. */
export function timeGet(url: string): Promise<Omit<Timed, "outputTokens">> {
  return timeResponse(url, { method: "GET", body: "" });
}

type TimedRequest = { readonly method: "GET" | "POST"; readonly body: string };

async function timeResponse(url: string, timed: TimedRequest): Promise<Timed> {
  const startedAt = performance.now();
  const response = await send(url, timed);
  let firstMilliseconds = Number.NaN;
  let end = "";
  for await (const bytes of response) {
    if (Number.isNaN(firstMilliseconds)) firstMilliseconds = performance.now() - startedAt;
    // In every API the token counts are in the last few hundred characters.
    end = (end + String(bytes)).slice(-2048);
  }
  if (response.statusCode !== 200)
    throw new Error(`Cannot time a response with status ${response.statusCode}: ${end}`);
  const counts = [...end.matchAll(/"(?:eval_count|completion_tokens|output_tokens)":(\d+)/gu)];
  return {
    firstMilliseconds,
    allMilliseconds: performance.now() - startedAt,
    outputTokens: Number(counts.at(-1)?.[1] ?? Number.NaN),
  };
}

function send(url: string, { method, body }: TimedRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = method === "GET" ? {} : { "content-length": Buffer.byteLength(body) };
    const sent = request(url, { method, agent, headers });
    // A server may close an idle connection while the next request is being sent.
    const onError = (error: Error): void =>
      sent.reusedSocket ? resolve(send(url, { method, body })) : reject(error);
    sent.on("response", resolve).on("error", onError).end(body);
  });
}
