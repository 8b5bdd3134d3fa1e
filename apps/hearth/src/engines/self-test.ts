import type { Engine, EngineDriver, EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";

export type SelfTestResult =
  | {
      readonly works: true;
      readonly tokensPerSecond: number;
      /** The GPU that it ran on. */
      readonly gpuDevice?: string;
    }
  | { readonly works: false; readonly reason: string };

export type SelfTestOptions = {
  /** The model of `createSelfTestModel`. */
  readonly modelPath: string;
  /** The server's settings for loading models. */
  readonly loadSettings: Pick<LoadPlan, "threads" | "gpuLayers">;
  readonly timeoutSeconds?: number;
};

const defaultTimeoutSeconds = 10;
/** The driver of a GPU compiles its programs when they are first used. */
const gpuTimeoutSeconds = 60;
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
    const timeout = driver.usesGpu === true ? gpuTimeoutSeconds : defaultTimeoutSeconds;
    const timeoutSeconds = options.timeoutSeconds ?? timeout;
    const opened = await runStep(timeoutSeconds, (signal) => openEngine(driver, { options, signal }));
    runs.push(
      opened.works ? { engine: stack.use(opened.value), timeoutSeconds, best: 0 } : { failure: opened },
    );
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, run] of runs.entries()) {
      if ("failure" in run) continue;
      const measured = await runStep(run.timeoutSeconds, (signal) =>
        measureSpeed(run.engine, burstTokens, signal),
      );
      runs[index] = measured.works
        ? { ...run, best: Math.max(run.best, measured.value) }
        : { failure: measured };
    }
  }
  return runs.map((run) => ("failure" in run ? run.failure : describeSuccess(run.engine, run.best)));
}

/** A GPU engine that had to use the CPU has failed, although it answered. */
function describeSuccess(engine: Engine, tokensPerSecond: number): SelfTestResult {
  const { gpuDevice, gpuFailure } = engine.describe();
  if (gpuFailure !== undefined) return { works: false, reason: `the GPU cannot be used: ${gpuFailure}` };
  return { works: true, tokensPerSecond, ...(gpuDevice === undefined ? {} : { gpuDevice }) };
}

type Failed = Extract<SelfTestResult, { works: false }>;
type TestRun =
  | { readonly engine: Engine; readonly timeoutSeconds: number; readonly best: number }
  | { readonly failure: Failed };
type StepResult<Value> = { readonly works: true; readonly value: Value } | Failed;

async function runStep<Value>(
  timeoutSeconds: number,
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
      {
        modelPath,
        contextTokens: 256,
        sequences: 1,
        purpose: "generate",
        // The output of this model repeats itself, unlike that of models in use.
        speculation: "off",
        ...loadSettings,
      },
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
  if (failure.kind === "engine-crashed") return describeCrash(failure);
  return knownReasons[failure.kind] ?? `it failed (${failure.kind})`;
}

type Crash = Extract<EngineFailure, { kind: "engine-crashed" }>;

function describeCrash({ exitCode, signal }: Crash): string {
  if (signal === "SIGILL") return "it crashed at an instruction that this CPU does not support (SIGILL)";
  if (signal !== null) return `it crashed (${signal})`;
  if (exitCode === missingProgramCode) {
    return `it crashed: a program or library that it needs is missing (exit code ${exitCode})`;
  }
  return exitCode === null ? "it crashed" : `it crashed (exit code ${exitCode})`;
}

/** Of the system's loader and of shells. */
const missingProgramCode = 127;

const knownReasons: Partial<Record<EngineFailure["kind"], string>> = {
  "engine-hung": "it stopped responding",
  "insufficient-memory": "there is not enough memory",
  "model-invalid": "it cannot load the test model",
  "sandbox-unavailable": "it cannot be sandboxed",
  "gpu-failed": "the GPU failed",
};
