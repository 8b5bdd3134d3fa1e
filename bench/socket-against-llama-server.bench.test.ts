import { availableParallelism } from "node:os";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { type Pair, startPair } from "./beside-llama-server.ts";
import { oneBillionModel } from "./one-billion-model.ts";
import { compare, lowerBound } from "./rounds.ts";
import { yardstick } from "./yardstick.ts";

/** All cores, because that is how such a server is run; Hearth has to share them with it. */
const threads = availableParallelism();

/** Tokens per second over concurrent streams, from the start of the first to the end of the last. */
async function measureThroughput(
  send: Pair["directly"],
  streams: number,
  maxTokens: number,
): Promise<number> {
  const startedAt = performance.now();
  const prompts = Array.from({ length: streams }, (_none, index) => `Tell story number ${index + 1}.`);
  const timed = await Promise.all(prompts.map((prompt) => send({ prompt, maxTokens })));
  const outputTokens = timed.reduce((sum, each) => sum + each.outputTokens, 0);
  expect(outputTokens).toBe(streams * maxTokens);
  return (outputTokens * 1000) / (performance.now() - startedAt);
}

const models = {
  "SmolLM2 135M": () => testModel("smollm2-135m-instruct-q4_1.gguf"),
  "a model of the shape of 1B": oneBillionModel,
} as const;

type Case = {
  readonly model?: keyof typeof models;
  readonly streams: number;
  readonly tokens: number;
  readonly bound: number;
  readonly claim: "engines 3" | "lean 6";
};

const inFrontOfServer: readonly Case[] = [
  { streams: 1, tokens: chooseSize({ ci: 16, show: 48, nightly: 128 }), bound: 0.97, claim: "engines 3" },
  { streams: 8, tokens: chooseSize({ ci: 8, show: 16, nightly: 64 }), bound: 0.95, claim: "engines 3" },
  { streams: 32, tokens: chooseSize({ ci: 4, show: 8, nightly: 48 }), bound: 0.92, claim: "engines 3" },
];
const withBuiltInEngine: readonly Case[] = [
  {
    streams: 1,
    tokens: chooseSize({ ci: 16, show: 96, nightly: 128 }),
    bound: 1,
    claim: "lean 6",
    model: "SmolLM2 135M",
  },
  {
    streams: 8,
    tokens: chooseSize({ ci: 8, show: 48, nightly: 64 }),
    bound: 1.3,
    claim: "lean 6",
    model: "SmolLM2 135M",
  },
  { streams: 1, tokens: 32, bound: 1, claim: "lean 6", model: "a model of the shape of 1B" },
  { streams: 8, tokens: 16, bound: 1.3, claim: "lean 6", model: "a model of the shape of 1B" },
];

function chooseCases(cases: readonly Case[]): readonly Case[] {
  return chooseSize({ ci: cases.slice(1, 2), show: cases, nightly: cases });
}

async function compareStreams({
  streams,
  tokens,
  bound,
  claim,
  model = "SmolLM2 135M",
}: Case): Promise<void> {
  // SmolLM2's end-of-sequence tokens.
  const endTokens = [0, 2];
  const modelPath = await models[model]();
  const engine = claim === "lean 6" ? "binding" : "llama-server";
  await using pair = await startPair({ modelPath, threads, slots: streams, endTokens, engine });
  const { ratio, medians } = await compare(
    `socket-against-llama-server-${engine}-${streams}${model === "SmolLM2 135M" ? "" : "-1b"}`,
    { name: "Hearth", measure: () => measureThroughput(pair.throughHearth, streams, tokens) },
    { name: "llama-server", measure: () => measureThroughput(pair.directly, streams, tokens) },
  );
  recordFigure({
    claim,
    text: `${ratio.toFixed(3)} of ${yardstick}, ${model}, ${streams} streams, ${threads} threads (${medians.map((each) => each.toFixed(1)).join(" against ")} tokens/s), needed ${bound}`,
  });
  expect(ratio).toBeGreaterThanOrEqual(lowerBound(bound));
}

test.for(chooseCases(inFrontOfServer))(
  "$streams streams through Hearth are nearly as fast as from llama.cpp's own server",
  { timeout: 900_000 },
  compareStreams,
);

test.for(chooseCases(withBuiltInEngine))(
  "$streams streams of $model with the built-in engine are faster than from llama.cpp's own server",
  { timeout: 900_000 },
  compareStreams,
);
