/**
 * @module
 * A program in the place of llama.cpp's own server that fails as a test tells it to: it listens where it is told,
 * answers what a load asks, and is silent or refuses on demand. For faults and timing only; answers are judged with
 * the real server. Imported by tests of this driver.
 */
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Engine } from "@hearth-and-keep/engine";
import { inspectMachine } from "@hearth-and-keep/engine-host";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { createLlamaServerDriver } from "../llama-server-driver.ts";

/** For each path how often it answers as it should, then says nothing, then refuses, before all is well again. */
export type Faults = Readonly<
  Record<string, { readonly well?: number; readonly silent?: number; readonly refused?: number }>
>;

export type FakeProgram = AsyncDisposable & { load(signal: AbortSignal): Promise<Engine> };

export const forEver = 1_000_000;

export async function playProgram(faults: Faults): Promise<FakeProgram> {
  const folder = await makeTemporaryFolder("played");
  const path = join(folder.path, "llama-server");
  await writeFile(path, `#!${process.execPath}\nconst faults = ${JSON.stringify(faults)};\n${script}`);
  await chmod(path, 0o755);
  // The walls hide the program that runs the script.
  const machine = { ...inspectMachine(), bubblewrap: undefined, setpriv: undefined, prlimit: undefined };
  const driver = createLlamaServerDriver({ program: { kind: "llama-server", path }, machine });
  const plan = { contextTokens: 128, sequences: 1, threads: 1, gpuLayers: 0, purpose: "generate" } as const;
  return {
    load: async (signal) =>
      driver.load(
        { ...plan, modelPath: await testModel("tiny-llama.gguf") },
        { signal, onProgress: () => undefined },
      ),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const script = `
const said = {
  "/health": "{}",
  "/props": "{}",
  "/tokenize": '{"tokens":[1,2,3]}',
  "/slots": '[{"id":0,"n_ctx":128,"is_processing":false}]',
  "/completion":
    'data: {"content":"a","tokens":[5],"tokens_predicted":1}\\n\\n' +
    'data: {"stop":true,"stop_type":"limit","tokens_predicted":1,"timings":{"cache_n":3,"prompt_n":3,"prompt_ms":1}}\\n\\n',
};
const asked = {};
const words = process.argv;
require("node:http").createServer((request, response) => {
  const path = request.url;
  asked[path] = (asked[path] ?? 0) + 1;
  const { well = 0, silent = 0, refused = 0 } = faults[path] ?? {};
  const over = asked[path] - well;
  if (over > 0 && over <= silent) return;
  response.writeHead(over > silent && over <= silent + refused ? 503 : 200);
  response.end(said[path] ?? "{}");
}).listen(words[words.indexOf("--host") + 1]);
process.stdin.resume().on("end", () => process.exit());
`;
