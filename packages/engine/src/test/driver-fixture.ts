import { testModel } from "@hearth-and-keep/test-servers";
import type { Engine, EngineDriver, EngineRequest, LoadPlan } from "../engine.ts";
import type { EngineEvent, GenerationEnd } from "../events.ts";
import { greedySampling } from "../fake-engine/greedy-sampling.ts";

/** One rule that every driver must satisfy, whichever program runs the model. */
export type DriverRule = {
  readonly name: string;
  readonly verify: (fixture: DriverFixture) => Promise<void>;
};

/** The tiny model with two sequences of 1,024 tokens, loaded once and shared by all rules. */
export type DriverFixture = {
  readonly driver: EngineDriver;
  readonly plan: LoadPlan;
  readonly engine: Engine;
  readonly run: (request: EngineRequest, signal?: AbortSignal) => Promise<Output>;
  readonly load: (changes?: Partial<LoadPlan>) => Promise<Engine>;
};

type Output = {
  readonly text: string;
  readonly end: GenerationEnd;
  readonly events: readonly EngineEvent[];
};

export const never: AbortSignal = new AbortController().signal;

export async function openDriverFixture(driver: EngineDriver): Promise<DriverFixture> {
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
  return { driver, plan, engine, load, run: (sent, signal = never) => run(engine, sent, signal) };
}

async function run(engine: Engine, sent: EngineRequest, signal: AbortSignal): Promise<Output> {
  const events: EngineEvent[] = [];
  for await (const event of engine.generate(sent, signal)) events.push(event);
  const end = events.at(-1);
  if (end?.type !== "generation-end") throw new Error(`Cannot finish: the last event was ${end?.type}`);
  const text = events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");
  return { text, end, events };
}

export function request(prompt: string, changes: Partial<EngineRequest> = {}): EngineRequest {
  return {
    input: { type: "raw", prompt },
    sampling: greedySampling,
    maxTokens: 16,
    cachePartition: "one",
    ...changes,
  };
}
