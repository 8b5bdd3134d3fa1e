import type { Engine, LoadPlan } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { inspectMachine, memoryLimitForPlan } from "@hearth-and-keep/engine-host";
import { hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import { descendantsOf, preparedWorker, readProcessFile, testModel } from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import { createLlamaDriver } from "./llama-driver.ts";

const never = new AbortController().signal;
const driver = createLlamaDriver(await preparedWorker());
let plan: LoadPlan;

beforeAll(async () => {
  const modelPath = await testModel("smollm2-135m-instruct-q4_1.gguf");
  plan = { modelPath, contextTokens: 512, sequences: 1, threads: 1, gpuLayers: 0, purpose: "generate" };
}, 900_000);

const load = (): Promise<Engine> => driver.load(plan, { signal: never, onProgress: () => undefined });

async function write(engine: Engine, grammar: string): Promise<string> {
  let text = "";
  const request = {
    input: { type: "raw", prompt: "aaaaaaaa" },
    sampling: greedySampling,
    maxTokens: 8,
    cachePartition: "one",
    constraint: { type: "gbnf", grammar },
  } as const;
  for await (const event of engine.generate(request, never)) {
    if (event.type === "text-delta") text += event.text;
  }
  return text;
}

/** Every letter can be parsed in sixteen ways, each with its own continuations. */
const ambiguous = `root ::= ${'"a" root root | '.repeat(16)} "a"`;
/** Has 2^30 possible starts. */
const branching = [
  "root ::= r0",
  ...Array.from({ length: 30 }, (_none, depth) => `r${depth} ::= r${depth + 1} "x" | r${depth + 1} "y"`),
  'r30 ::= "a"',
].join("\n");

test.each([
  { name: "sampling a token", grammar: ambiguous },
  { name: "starting", grammar: branching },
])(
  "a valid grammar for which $name would never finish is rejected before it costs a token",
  async ({ name, grammar }) => {
    await using engine = await load();
    const startedAt = performance.now();
    const memory = watchMemory();
    const error: unknown = await write(engine, grammar).catch((failure: unknown) => failure);
    const seconds = (performance.now() - startedAt) / 1000;
    const peakBytes = memory.stop();
    expect(error).toMatchObject({
      failure: { kind: "grammar-invalid", reason: expect.stringMatching(/^it is too ambiguous/u) },
    });
    // In CI, other processes compete for CPU time.
    expect(seconds).toBeLessThan(hasLooseTimingBounds ? 40 : 5);
    expect(peakBytes).toBeLessThan(await memoryLimitForPlan(plan, inspectMachine().memoryBytes));
    expect(await write(engine, 'root ::= "yes" | "no"')).toMatch(/^(yes|no)$/u);
    recordFigure({
      claim: "engine 16",
      text: `a grammar for which ${name} would never finish was rejected after ${seconds.toFixed(1)} s, the largest process held ${Math.round(peakBytes / 1e6)} MB`,
      counted: { reached: 1, needed: 1 },
    });
  },
  60_000,
);

/** Measures the peak memory of any descendant process. */
function watchMemory(): { stop(): number } {
  let peakBytes = 0;
  const timer = setInterval(() => {
    for (const pid of descendantsOf(process.pid)) peakBytes = Math.max(peakBytes, residentBytes(pid));
  }, 200);
  return {
    stop() {
      clearInterval(timer);
      return peakBytes;
    },
  };
}

function residentBytes(pid: number): number {
  return 1024 * Number(/^VmRSS:\s+(\d+)/mu.exec(readProcessFile(pid, "status"))?.[1] ?? 0);
}
