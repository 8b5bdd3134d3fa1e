import { symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  makeTemporaryFolder,
  preparePython,
  startLlamaServer,
  type TestModelName,
  testModel,
} from "@hearth-and-keep/test-servers";
import type { Timed } from "./engine-under-test.ts";
import { startHearth, timeStream } from "./served.ts";

/** Hearth in front of llama.cpp's own server, and the same server without Hearth, with the same settings. */
export type Pair = AsyncDisposable & {
  readonly throughHearth: (request: BenchRequest) => Promise<Timed>;
  readonly directly: (request: BenchRequest) => Promise<Timed>;
};

export type BenchRequest = { readonly prompt: string; readonly maxTokens: number };

export type PairPlan = {
  readonly model: TestModelName;
  readonly threads: number;
  readonly slots: number;
  /** End-of-sequence tokens, which are banned so that every response has exactly `maxTokens` tokens. */
  readonly endTokens: readonly number[];
};

const contextTokens = 512;
const path = "/v1/chat/completions";

export async function startPair({ model, threads, slots, endTokens }: PairPlan): Promise<Pair> {
  await using stack = new AsyncDisposableStack();
  const engines = stack.use(await makeTemporaryFolder("engines"));
  const { interpreter } = await preparePython();
  await symlink(dirname(dirname(interpreter)), join(engines.path, "xllamacpp-1.0"));
  const hearth = stack.use(
    await startHearth(model, {
      HEARTH_ENGINE: "xllamacpp",
      HEARTH_ENGINES_FOLDER: engines.path,
      HEARTH_THREADS: String(threads),
      HEARTH_PARALLEL_REQUESTS: String(slots),
      HEARTH_CONTEXT_LENGTH: String(contextTokens),
    }),
  );
  const server = stack.use(
    await startLlamaServer({ model: await testModel(model), parallelSlots: slots, contextTokens, threads }),
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
