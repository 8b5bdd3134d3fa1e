/**
 * @module
 * Measures a model through a server: what a person waits for, how fast a prompt is read and an answer written, and
 * what several clients at once get together. Bounded in time. Imported by `commands/bench.ts`.
 */
import { randomUUID } from "node:crypto";
import type { ServerCaller } from "../../server-client/call-server.ts";
import type { AnswerEnd } from "../../server-client/response-types.ts";

type CurvePoint = { readonly clients: number; readonly tokensPerSecond: number };

export type Measured = {
  readonly model: string;
  readonly loadSeconds: number;
  readonly firstTokenSeconds: number;
  readonly readTokensPerSecond: number;
  readonly writeTokensPerSecond: number;
  /** What all clients get together. */
  readonly curve: readonly CurvePoint[];
  /** Whether the time was over before all numbers of clients were tried. */
  readonly isCut: boolean;
};

export type BenchPlan = {
  readonly model: string;
  readonly clients: readonly number[];
  readonly seconds: number;
};

const answerTokens = 48;
const longPromptWords = 300;

export async function measureModel(server: ServerCaller, plan: BenchPlan): Promise<Measured> {
  const startedAt = performance.now();
  const secondsSoFar = (): number => (performance.now() - startedAt) / 1000;
  await server.ask("/api/generate", { model: plan.model, stream: false }, { idleSeconds: 3600 });
  const loadSeconds = secondsSoFar();
  const first = await askOnce(server, plan.model, { prompt: "Say hello.", tokens: 8 });
  const reading = await askOnce(server, plan.model, { prompt: longPrompt(), tokens: 1 });
  const writing = await askOnce(server, plan.model, {
    prompt: "Tell a long story about the sea.",
    tokens: answerTokens,
  });
  const curve: CurvePoint[] = [];
  let lastSeconds = 0;
  for (const clients of plan.clients) {
    const before = secondsSoFar();
    // Twice the clients take about twice as long, where the machine is the limit.
    if (curve.length > 0 && before + 2 * lastSeconds > plan.seconds) break;
    curve.push({ clients, tokensPerSecond: await throughput(server, plan.model, clients) });
    lastSeconds = secondsSoFar() - before;
  }
  return {
    model: plan.model,
    loadSeconds,
    firstTokenSeconds: first.firstSeconds,
    readTokensPerSecond: rate(reading.end.prompt_eval_count, reading.end.prompt_eval_duration),
    writeTokensPerSecond: rate(writing.end.eval_count, writing.end.eval_duration),
    curve,
    isCut: curve.length < plan.clients.length,
  };
}

/** Different from everything that was asked before, so that none of it has been read already. */
function longPrompt(): string {
  const words = Array.from({ length: longPromptWords }, (_, index) => `word${(index * 7919) % 1000}`);
  return `${randomUUID()} ${words.join(" ")}`;
}

type Question = { readonly prompt: string; readonly tokens: number };
type Answered = { readonly firstSeconds: number; readonly end: AnswerEnd };

async function askOnce(server: ServerCaller, model: string, { prompt, tokens }: Question): Promise<Answered> {
  const startedAt = performance.now();
  let firstSeconds = 0;
  let end: AnswerEnd = {};
  const body = { model, prompt, options: { num_predict: tokens, temperature: 0.8 } };
  for await (const object of server.stream("/api/generate", body)) {
    if (firstSeconds === 0) firstSeconds = (performance.now() - startedAt) / 1000;
    if (object["done"] === true) end = object;
  }
  return { firstSeconds, end };
}

async function throughput(server: ServerCaller, model: string, clients: number): Promise<number> {
  const startedAt = performance.now();
  const answers = await Promise.all(
    Array.from({ length: clients }, (_, client) =>
      askOnce(server, model, {
        prompt: `Story ${client}: tell a long story about the sea.`,
        tokens: answerTokens,
      }),
    ),
  );
  const tokens = answers.reduce((sum, { end }) => sum + (end.eval_count ?? 0), 0);
  return tokens / ((performance.now() - startedAt) / 1000);
}

function rate(count = 0, nanoseconds = 0): number {
  return nanoseconds === 0 ? 0 : count / (nanoseconds / 1e9);
}
