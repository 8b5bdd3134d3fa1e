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

/** Hearth with llama.cpp's own server as its engine, and such a server that is asked directly: same model, same sizes. */
export type Pair = AsyncDisposable & {
  readonly throughHearth: (question: BenchRequest) => Promise<Timed>;
  readonly directly: (question: BenchRequest) => Promise<Timed>;
};

export type BenchRequest = { readonly prompt: string; readonly maxTokens: number };

export type PairPlan = {
  readonly model: TestModelName;
  readonly threads: number;
  readonly slots: number;
  /** Tokens that end an answer; forbidden, so that every answer is as long as it is asked to be. */
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
  const kept = stack.move();
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
    throughHearth: (question) => timeStream(hearth.url + path, body(question)),
    // What Hearth adds by default is computed on both sides.
    directly: (question) => timeStream(server.url + path, { ...body(question), repeat_penalty: 1.1 }),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
