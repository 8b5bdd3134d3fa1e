import type { Engine, EngineDriver, EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";

export type SelfTest =
  | { readonly works: true; readonly tokensPerSecond: number }
  | { readonly works: false; readonly reason: string };

export type SelfTestPlan = {
  /** The model of `makeSelfTestModel`. */
  readonly modelPath: string;
  /** How every model of this server is loaded. */
  readonly loadSettings: Pick<LoadPlan, "threads" | "gpuLayers">;
  readonly withinSeconds?: number;
};

const usualSeconds = 10;
const firstTokens = 4;
const burstTokens = 32;
/** In turns, so that all are measured under the same load; the best one counts, because load only makes it slower. */
const rounds = 4;

/** Starts engines, has them write a few tokens and says how fast each was; what goes wrong is an answer, never thrown. */
export async function testTogether(
  drivers: readonly EngineDriver[],
  plan: SelfTestPlan,
): Promise<readonly SelfTest[]> {
  await using stack = new AsyncDisposableStack();
  const trials: Trial[] = [];
  for (const driver of drivers) {
    const trial = await step(plan, (signal) => open(driver, { plan, signal }));
    trials.push(trial.works ? { engine: stack.use(trial.value), best: 0 } : { failure: trial });
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, trial] of trials.entries()) {
      if ("failure" in trial) continue;
      const written = await step(plan, (signal) => write(trial.engine, burstTokens, signal));
      trials[index] = written.works
        ? { ...trial, best: Math.max(trial.best, written.value) }
        : { failure: written };
    }
  }
  return trials.map((trial) =>
    "failure" in trial ? trial.failure : { works: true, tokensPerSecond: trial.best },
  );
}

type Failed = Extract<SelfTest, { works: false }>;
type Trial = { readonly engine: Engine; readonly best: number } | { readonly failure: Failed };
type Step<Value> = { readonly works: true; readonly value: Value } | Failed;

async function step<Value>(
  { withinSeconds = usualSeconds }: SelfTestPlan,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Step<Value>> {
  const signal = AbortSignal.timeout(withinSeconds * 1000);
  try {
    return { works: true, value: await work(signal) };
  } catch (problem) {
    if (signal.aborted) return { works: false, reason: `it was not done within ${withinSeconds} s` };
    return { works: false, reason: reasonOf(problem) };
  }
}

type Opening = { readonly plan: SelfTestPlan; readonly signal: AbortSignal };

async function open(driver: EngineDriver, { plan, signal }: Opening): Promise<Engine> {
  const { modelPath, loadSettings } = plan;
  await using stack = new AsyncDisposableStack();
  const engine = stack.use(
    await driver.load(
      { modelPath, contextTokens: 256, sequences: 1, purpose: "generate", ...loadSettings },
      { signal, onProgress: () => undefined },
    ),
  );
  await write(engine, firstTokens, signal);
  stack.move();
  return engine;
}

/** Tokens per second of the whole answer: some engines say their first words late, and then several at once. */
async function write(engine: Engine, mostTokens: number, signal: AbortSignal): Promise<number> {
  const prompt = "Is anybody there?";
  const request = {
    input: { type: "raw", prompt },
    sampling,
    mostTokens,
    cachePartition: "self-test",
  } as const;
  const startedAt = performance.now();
  let text = "";
  let written = 0;
  for await (const event of engine.generate(request, signal)) {
    if (event.type === "text-delta") text += event.text;
    else if (event.type === "generation-end") written = event.usage.outputTokens;
  }
  if (written !== mostTokens || text.length !== mostTokens) throw new WrongAnswer(written, mostTokens);
  return mostTokens / ((performance.now() - startedAt) / 1000);
}

class WrongAnswer extends Error {
  constructor(written: number, wanted: number) {
    super(`it wrote ${written} tokens where ${wanted} were asked for`);
    this.name = "WrongAnswer";
  }
}

/** Greedy: the same on every engine. */
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

function reasonOf(problem: unknown): string {
  if (problem instanceof WrongAnswer) return problem.message;
  // Drivers throw the port's failures only; anything else is a program that cannot be started.
  const failure = problem instanceof FailureError ? (problem.failure as EngineFailure) : undefined;
  if (failure === undefined) return "it cannot be started";
  return knownReasons[failure.kind] ?? `it failed (${failure.kind})`;
}

const knownReasons: Partial<Record<EngineFailure["kind"], string>> = {
  "engine-died": "it ended by itself",
  "engine-hung": "it fell silent",
  "memory-lacking": "there is too little memory",
  "model-invalid": "it cannot load our test model",
};
