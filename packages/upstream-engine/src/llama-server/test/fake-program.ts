/**
 * @module
 * A fake of llama.cpp's own server with configurable faults: it listens on the given socket, serves the requests of a
 * load, and stays silent or fails on demand. For faults and timing only; output is tested with the real server.
 * Imported by tests of this driver.
 */
import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Engine } from "@hearth-and-keep/engine";
import { CrashBreaker, inspectMachine } from "@hearth-and-keep/engine-host";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { createLlamaServerDriver } from "../llama-server-driver.ts";

/**
 * For each path, the number of normal responses, then of requests without a response, then of errors; afterwards all
 * succeed.
 */
export type Faults = Readonly<
  Record<string, { readonly ok?: number; readonly silent?: number; readonly failing?: number }>
>;

export type FakeProgram = AsyncDisposable & {
  load(signal: AbortSignal): Promise<Engine>;
  /** The bytes of every further response to a completion; undefined for the normal response. */
  setCompletion(bytes: Uint8Array | undefined): Promise<void>;
};

export const forever = 1_000_000;

export async function startFakeProgram(faults: Faults): Promise<FakeProgram> {
  const folder = await makeTemporaryFolder("fake");
  const path = join(folder.path, "llama-server");
  const completion = join(folder.path, "completion");
  const settings = `const faults = ${JSON.stringify(faults)};\nconst completion = ${JSON.stringify(completion)};`;
  await writeFile(path, `#!${process.execPath}\n${settings}\n${script}`);
  await chmod(path, 0o755);
  // The sandbox would hide the interpreter of the script.
  const machine = { ...inspectMachine(), isRoot: false, bubblewrap: undefined, prlimit: undefined };
  let now = 0;
  // Every crash is long ago, so that the model is never quarantined.
  const breaker = new CrashBreaker(() => (now += 3_600_000));
  const driver = createLlamaServerDriver({ program: { kind: "llama-server", path }, machine, breaker });
  const plan = { contextTokens: 128, sequences: 1, threads: 1, gpuLayers: 0, purpose: "generate" } as const;
  return {
    load: async (signal) =>
      driver.load(
        { ...plan, modelPath: await testModel("tiny-llama.gguf") },
        { signal, onProgress: () => undefined },
      ),
    setCompletion: (bytes) =>
      bytes === undefined ? rm(completion, { force: true }) : writeFile(completion, bytes),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const script = `
const { existsSync, readFileSync } = require("node:fs");
const responses = {
  "/health": "{}",
  "/props": "{}",
  "/tokenize": '{"tokens":[1,2,3]}',
  "/slots": '[{"id":0,"n_ctx":128,"is_processing":false}]',
  "/completion":
    'data: {"content":"a","tokens":[5],"tokens_predicted":1}\\n\\n' +
    'data: {"stop":true,"stop_type":"limit","tokens_predicted":1,"timings":{"cache_n":3,"prompt_n":3,"prompt_ms":1}}\\n\\n',
};
const counts = {};
const args = process.argv;
require("node:http").createServer((request, response) => {
  const path = request.url;
  counts[path] = (counts[path] ?? 0) + 1;
  if (path === "/completion" && existsSync(completion)) return request.socket.end(readFileSync(completion));
  const { ok = 0, silent = 0, failing = 0 } = faults[path] ?? {};
  const faulty = counts[path] - ok;
  if (faulty > 0 && faulty <= silent) return;
  response.writeHead(faulty > silent && faulty <= silent + failing ? 503 : 200);
  response.end(responses[path] ?? "{}");
}).listen(args[args.indexOf("--host") + 1]);
process.stdin.resume().on("end", () => process.exit());
`;
