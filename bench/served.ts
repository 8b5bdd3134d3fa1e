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

const program = fileURLToPath(new URL("../apps/hearth/bin/hearth.js", import.meta.url));

export type Served = AsyncDisposable & { readonly url: string; readonly pid: number };

/** Starts the real program in its own process, with one model named `model`. */
export async function startHearth(
  file: TestModelName,
  settings: Readonly<Record<string, string>>,
): Promise<Served> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await makeTemporaryFolder("served"));
  const from = await testModel(file);
  const args = [program, "create", "model", "--from", from, "--models", folder.path];
  await promisify(execFile)(process.execPath, args);
  const hearth = stack.use(
    await startProcess({
      command: process.execPath,
      arguments: [program, "serve", "--port", "0", "--log-level", "warn"],
      environment: { HEARTH_MODELS: folder.path, ...settings },
      isReady: (output) => output.includes("Hearth is listening on"),
    }),
  );
  const resources = stack.move();
  const url = /Hearth is listening on (\S+)/.exec(hearth.output())?.[1] ?? "";
  return { url, pid: hearth.pid, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Keeps connections open, as client libraries do; there are enough sockets that no request waits for one. */
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Sends one streaming request and measures the time to its first and last byte and its output tokens. */
export async function timeStream(url: string, body: unknown): Promise<Timed> {
  const startedAt = performance.now();
  const response = await send(url, JSON.stringify(body));
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

function send(url: string, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method: "POST",
      agent,
      headers: { "content-length": Buffer.byteLength(body) },
    });
    // A server may close an idle connection while the next request is being sent.
    const onError = (error: Error): void => (sent.reusedSocket ? resolve(send(url, body)) : reject(error));
    sent.on("response", resolve).on("error", onError).end(body);
  });
}
