import type { Engine, EngineDriver, EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";

export type SelfTestResult =
  | { readonly works: true; readonly tokensPerSecond: number }
  | { readonly works: false; readonly reason: string };

export type SelfTestOptions = {
  /** The model of `createSelfTestModel`. */
  readonly modelPath: string;
  /** The server's settings for loading models. */
  readonly loadSettings: Pick<LoadPlan, "threads" | "gpuLayers">;
  readonly timeoutSeconds?: number;
};

const defaultTimeoutSeconds = 10;
const warmUpTokens = 4;
const burstTokens = 32;
/** Engines take turns, so that all run under the same load. The best round counts, because load only slows it down. */
const rounds = 4;

/** Starts engines and measures how fast each generates tokens. Failures are returned as results, not thrown. */
export async function runSelfTests(
  drivers: readonly EngineDriver[],
  options: SelfTestOptions,
): Promise<readonly SelfTestResult[]> {
  await using stack = new AsyncDisposableStack();
  const runs: TestRun[] = [];
  for (const driver of drivers) {
    const opened = await runStep(options, (signal) => openEngine(driver, { options, signal }));
    runs.push(opened.works ? { engine: stack.use(opened.value), best: 0 } : { failure: opened });
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, run] of runs.entries()) {
      if ("failure" in run) continue;
      const measured = await runStep(options, (signal) => measureSpeed(run.engine, burstTokens, signal));
      runs[index] = measured.works
        ? { ...run, best: Math.max(run.best, measured.value) }
        : { failure: measured };
    }
  }
  return runs.map((run) => ("failure" in run ? run.failure : { works: true, tokensPerSecond: run.best }));
}

type Failed = Extract<SelfTestResult, { works: false }>;
type TestRun = { readonly engine: Engine; readonly best: number } | { readonly failure: Failed };
type StepResult<Value> = { readonly works: true; readonly value: Value } | Failed;

async function runStep<Value>(
  { timeoutSeconds = defaultTimeoutSeconds }: SelfTestOptions,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<StepResult<Value>> {
  const signal = AbortSignal.timeout(timeoutSeconds * 1000);
  try {
    return { works: true, value: await work(signal) };
  } catch (error) {
    if (signal.aborted) return { works: false, reason: `it did not finish within ${timeoutSeconds} s` };
    return { works: false, reason: reasonOf(error) };
  }
}

type OpenContext = { readonly options: SelfTestOptions; readonly signal: AbortSignal };

async function openEngine(driver: EngineDriver, { options, signal }: OpenContext): Promise<Engine> {
  const { modelPath, loadSettings } = options;
  await using stack = new AsyncDisposableStack();
  const engine = stack.use(
    await driver.load(
      { modelPath, contextTokens: 256, sequences: 1, purpose: "generate", ...loadSettings },
      { signal, onProgress: () => undefined },
    ),
  );
  await measureSpeed(engine, warmUpTokens, signal);
  stack.move();
  return engine;
}

/** Tokens per second over the whole output, because some engines send their first tokens late and in one batch. */
async function measureSpeed(engine: Engine, maxTokens: number, signal: AbortSignal): Promise<number> {
  const prompt = "Is anybody there?";
  const request = {
    input: { type: "raw", prompt },
    sampling,
    maxTokens,
    cachePartition: "self-test",
  } as const;
  const startedAt = performance.now();
  let text = "";
  let generated = 0;
  for await (const event of engine.generate(request, signal)) {
    if (event.type === "text-delta") text += event.text;
    else if (event.type === "generation-end") generated = event.usage.outputTokens;
  }
  if (generated !== maxTokens || text.length !== maxTokens) throw new WrongOutputError(generated, maxTokens);
  return maxTokens / ((performance.now() - startedAt) / 1000);
}

class WrongOutputError extends Error {
  constructor(generated: number, requested: number) {
    super(`it generated ${generated} tokens instead of ${requested}`);
    this.name = "WrongOutputError";
  }
}

/** Greedy, so that every engine does the same work. */
const sampling = {
  temperature: 0,
  topK: 1,
  topP: 1,
  minP: 0,
  typicalP: 1,
  repeatPenalty: 1,
  repeatLastTokens: 0,
  frequencyPenalty: 0,
  presencePenalty: 0,
  seed: 1,
  logitBias: new Map(),
} as const;

function reasonOf(error: unknown): string {
  if (error instanceof WrongOutputError) return error.message;
  // Drivers throw engine failures; any other error comes from starting the program.
  const failure = error instanceof FailureError ? (error.failure as EngineFailure) : undefined;
  if (failure === undefined) return "it could not be started";
  return knownReasons[failure.kind] ?? `it failed (${failure.kind})`;
}

const knownReasons: Partial<Record<EngineFailure["kind"], string>> = {
  "engine-crashed": "it crashed",
  "engine-hung": "it stopped responding",
  "insufficient-memory": "there is not enough memory",
  "model-invalid": "it cannot load the test model",
  "sandbox-unavailable": "it cannot be sandboxed",
};
