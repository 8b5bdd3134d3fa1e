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

export type Served = AsyncDisposable & { readonly url: string };

/** The program itself, in a process of its own as people run it, with one model named `model`. */
export async function startHearth(
  file: TestModelName,
  settings: Readonly<Record<string, string>>,
): Promise<Served> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await makeTemporaryFolder("served"));
  const from = await testModel(file);
  const words = [program, "create", "model", "--from", from, "--models", folder.path];
  await promisify(execFile)(process.execPath, words);
  const hearth = stack.use(
    await startProcess({
      command: process.execPath,
      arguments: [program, "serve", "--port", "0", "--log-level", "warn"],
      environment: { HEARTH_MODELS: folder.path, ...settings },
      isReady: (output) => output.includes("Hearth is listening on"),
    }),
  );
  const kept = stack.move();
  const url = /Hearth is listening on (\S+)/.exec(hearth.output())?.[1] ?? "";
  return { url, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Connections are kept open, as every client library keeps them; none waits for another. */
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Sends one request for a stream and reads it to its end: the time to its first byte, to its last, its tokens. */
export async function timeStream(url: string, body: unknown): Promise<Timed> {
  const startedAt = performance.now();
  const response = await send(url, JSON.stringify(body));
  let firstMilliseconds = Number.NaN;
  let end = "";
  for await (const bytes of response) {
    if (Number.isNaN(firstMilliseconds)) firstMilliseconds = performance.now() - startedAt;
    // The count of tokens is in the last few hundred characters, in every family.
    end = (end + String(bytes)).slice(-2048);
  }
  if (response.statusCode !== 200) throw new Error(`Cannot time an answer of ${response.statusCode}: ${end}`);
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
    // A server may close a connection that was kept while the next request is on its way.
    const giveUp = (problem: Error): void => (sent.reusedSocket ? resolve(send(url, body)) : reject(problem));
    sent.on("response", resolve).on("error", giveUp).end(body);
  });
}
