import { testModel } from "@hearth-and-keep/test-servers";
import type { Engine, EngineDriver, GenerateRequest, LoadPlan } from "../engine.ts";
import type { EngineEvent, GenerationEnd } from "../events.ts";
import { greedySampling } from "../fake-engine/greedy-sampling.ts";

/** One thing that holds for every engine behind the port, whichever program runs the model. */
export type EngineRule = { readonly name: string; readonly prove: (stage: EngineStage) => Promise<void> };

/** What a rule is tried on: the tiny model with two sequences of 1,024 tokens, in one engine for all rules. */
export type EngineStage = {
  readonly driver: EngineDriver;
  readonly plan: LoadPlan;
  readonly engine: Engine;
  readonly run: (asked: GenerateRequest, signal?: AbortSignal) => Promise<Answer>;
  readonly load: (changes?: Partial<LoadPlan>) => Promise<Engine>;
};

type Answer = {
  readonly text: string;
  readonly end: GenerationEnd;
  readonly events: readonly EngineEvent[];
};

export const never: AbortSignal = new AbortController().signal;

export async function openStage(driver: EngineDriver): Promise<EngineStage> {
  const plan: LoadPlan = {
    modelPath: await testModel("tiny-llama.gguf"),
    contextTokens: 1024,
    sequences: 2,
    threads: 1,
    gpuLayers: 0,
    purpose: "generate",
  };
  const load = (changes: Partial<LoadPlan> = {}): Promise<Engine> =>
    driver.load({ ...plan, ...changes }, { signal: never, onProgress: () => undefined });
  const engine = await load();
  return { driver, plan, engine, load, run: (asked, signal = never) => run(engine, asked, signal) };
}

async function run(engine: Engine, asked: GenerateRequest, signal: AbortSignal): Promise<Answer> {
  const events: EngineEvent[] = [];
  for await (const event of engine.generate(asked, signal)) events.push(event);
  const end = events.at(-1);
  if (end?.type !== "generation-end") throw new Error(`Cannot finish: the last event was ${end?.type}`);
  const text = events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");
  return { text, end, events };
}

export function request(prompt: string, changes: Partial<GenerateRequest> = {}): GenerateRequest {
  return {
    input: { type: "raw", prompt },
    sampling: greedySampling,
    mostTokens: 16,
    cachePartition: "one",
    ...changes,
  };
}
