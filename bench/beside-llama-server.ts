import { symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeTemporaryFolder, preparePython } from "@hearth-and-keep/test-servers";
import { llamaServerPath } from "./config.ts";
import type { Timed } from "./engine-under-test.ts";
import { presentProgram, type Settings, startWithFile, timeStream } from "./served.ts";
import { startYardstick } from "./yardstick.ts";

/** Hearth, and llama.cpp's own server without it, with the same settings. */
export type Pair = AsyncDisposable & {
  readonly throughHearth: (request: BenchRequest) => Promise<Timed>;
  readonly directly: (request: BenchRequest) => Promise<Timed>;
};

export type BenchRequest = { readonly prompt: string; readonly maxTokens: number };

export type PairPlan = {
  /** The path of a GGUF file. */
  readonly modelPath: string;
  readonly threads: number;
  readonly slots: number;
  /** What computes behind Hearth; by default the same server. */
  readonly engine?: "llama-server" | "binding";
  /** End-of-sequence tokens, which are banned so that every response has exactly `maxTokens` tokens. */
  readonly endTokens: readonly number[];
};

const contextTokens = 512;
const path = "/v1/chat/completions";

export async function startPair({
  modelPath,
  threads,
  slots,
  endTokens,
  engine = "llama-server",
}: PairPlan): Promise<Pair> {
  await using stack = new AsyncDisposableStack();
  const engines = stack.use(await makeTemporaryFolder("engines"));
  const hearth = stack.use(
    await startWithFile(presentProgram, modelPath, {
      ...(engine === "binding" ? { HEARTH_ENGINE: engine } : await useServer(engines.path)),
      HEARTH_ENGINES_FOLDER: engines.path,
      HEARTH_THREADS: String(threads),
      HEARTH_PARALLEL_REQUESTS: String(slots),
      HEARTH_CONTEXT_LENGTH: String(contextTokens),
    }),
  );
  const server = stack.use(
    await startYardstick({ model: modelPath, parallelSlots: slots, contextTokens, threads }),
  );
  const resources = stack.move();
  const body = ({ prompt, maxTokens }: BenchRequest): object => ({
    model: "model",
    messages: [{ role: "user", content: prompt }],
    reasoning_effort: "none",
    temperature: 0,
    max_tokens: maxTokens,
    logit_bias: Object.fromEntries(endTokens.map((token) => [token, -100])),
    stream: true,
    stream_options: { include_usage: true },
  });
  return {
    throughHearth: (request) => timeStream(hearth.url + path, body(request)),
    // Hearth's default repeat penalty, so that both sides compute the same.
    directly: (request) => timeStream(server.url + path, { ...body(request), repeat_penalty: 1.1 }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Hearth's settings for the server that is measured without it too. */
async function useServer(enginesFolder: string): Promise<Settings> {
  if (llamaServerPath !== undefined)
    return { HEARTH_ENGINE: "llama-server", HEARTH_LLAMA_SERVER: llamaServerPath };
  const { interpreter } = await preparePython();
  await symlink(dirname(dirname(interpreter)), join(enginesFolder, "xllamacpp-1.0"));
  return { HEARTH_ENGINE: "xllamacpp" };
}
