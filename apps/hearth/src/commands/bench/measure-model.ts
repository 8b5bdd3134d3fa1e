/**
 * @module
 * Measures a model through the server: load time, time to first token, prompt and output speed, and throughput with
 * several clients. Bounded in time. Imported by `commands/bench.ts`.
 */
import { randomUUID } from "node:crypto";
import type { GenerationStats } from "../../server-client/response-types.ts";
import type { ServerClient } from "../../server-client/server-client.ts";

type ThroughputPoint = { readonly clients: number; readonly tokensPerSecond: number };

export type BenchmarkResult = {
  readonly model: string;
  readonly loadSeconds: number;
  readonly firstTokenSeconds: number;
  readonly promptTokensPerSecond: number;
  readonly outputTokensPerSecond: number;
  /** All clients together. */
  readonly throughput: readonly ThroughputPoint[];
  /** Whether the time limit was reached before all client counts were measured. */
  readonly isTruncated: boolean;
};

export type BenchmarkOptions = {
  readonly model: string;
  readonly clients: readonly number[];
  readonly seconds: number;
};

const outputTokens = 48;
const longPromptWords = 300;

export async function measureModel(
  server: ServerClient,
  { model, clients: clientCounts, seconds }: BenchmarkOptions,
): Promise<BenchmarkResult> {
  const startedAt = performance.now();
  const elapsedSeconds = (): number => (performance.now() - startedAt) / 1000;
  await server.request("/api/generate", { model, stream: false }, { idleSeconds: 3600 });
  const loadSeconds = elapsedSeconds();
  const short = await generateOnce(server, model, { prompt: "Say hello.", tokens: 8 });
  const prompt = await generateOnce(server, model, { prompt: longPrompt(), tokens: 1 });
  const output = await generateOnce(server, model, {
    prompt: "Tell a long story about the sea.",
    tokens: outputTokens,
  });
  const throughput: ThroughputPoint[] = [];
  let lastSeconds = 0;
  for (const clients of clientCounts) {
    const before = elapsedSeconds();
    // On a saturated machine, twice as many clients take about twice as long.
    if (throughput.length > 0 && before + 2 * lastSeconds > seconds) break;
    throughput.push({ clients, tokensPerSecond: await measureThroughput(server, model, clients) });
    lastSeconds = elapsedSeconds() - before;
  }
  return {
    model,
    loadSeconds,
    firstTokenSeconds: short.firstTokenSeconds,
    promptTokensPerSecond: rate(prompt.stats.prompt_eval_count, prompt.stats.prompt_eval_duration),
    outputTokensPerSecond: rate(output.stats.eval_count, output.stats.eval_duration),
    throughput,
    isTruncated: throughput.length < clientCounts.length,
  };
}

/** Starts with a random text, so that no part of the prompt is in the prompt cache. */
function longPrompt(): string {
  const words = Array.from({ length: longPromptWords }, (_, index) => `word${(index * 7919) % 1000}`);
  return `${randomUUID()} ${words.join(" ")}`;
}

type BenchmarkPrompt = { readonly prompt: string; readonly tokens: number };
type TimedGeneration = { readonly firstTokenSeconds: number; readonly stats: GenerationStats };

async function generateOnce(
  server: ServerClient,
  model: string,
  { prompt, tokens }: BenchmarkPrompt,
): Promise<TimedGeneration> {
  const startedAt = performance.now();
  let firstTokenSeconds = 0;
  let stats: GenerationStats = {};
  const body = { model, prompt, options: { num_predict: tokens, temperature: 0.8 } };
  for await (const object of server.stream("/api/generate", body)) {
    if (firstTokenSeconds === 0) firstTokenSeconds = (performance.now() - startedAt) / 1000;
    if (object["done"] === true) stats = object;
  }
  return { firstTokenSeconds, stats };
}

async function measureThroughput(server: ServerClient, model: string, clients: number): Promise<number> {
  const startedAt = performance.now();
  const generations = await Promise.all(
    Array.from({ length: clients }, (_, client) =>
      generateOnce(server, model, {
        prompt: `Story ${client}: tell a long story about the sea.`,
        tokens: outputTokens,
      }),
    ),
  );
  const tokens = generations.reduce((sum, { stats }) => sum + (stats.eval_count ?? 0), 0);
  return tokens / ((performance.now() - startedAt) / 1000);
}

function rate(count = 0, nanoseconds = 0): number {
  return nanoseconds === 0 ? 0 : count / (nanoseconds / 1e9);
}
