import { availableParallelism } from "node:os";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { type Pair, startPair } from "./beside-llama-server.ts";
import { compare, lowerBound } from "./rounds.ts";

/** All cores, because that is how such a server is run; Hearth has to share them with it. */
const threads = availableParallelism();

/** Tokens per second over concurrent streams, from the start of the first to the end of the last. */
async function throughput(send: Pair["directly"], streams: number, maxTokens: number): Promise<number> {
  const startedAt = performance.now();
  const prompts = Array.from({ length: streams }, (_none, index) => `Tell story number ${index + 1}.`);
  const timed = await Promise.all(prompts.map((prompt) => send({ prompt, maxTokens })));
  const outputTokens = timed.reduce((sum, each) => sum + each.outputTokens, 0);
  expect(outputTokens).toBe(streams * maxTokens);
  return (outputTokens * 1000) / (performance.now() - startedAt);
}

const cases = [
  { streams: 1, tokens: chooseSize({ ci: 16, show: 48, nightly: 128 }), bound: 0.97 },
  { streams: 8, tokens: chooseSize({ ci: 8, show: 16, nightly: 64 }), bound: 0.95 },
  { streams: 32, tokens: chooseSize({ ci: 4, show: 8, nightly: 48 }), bound: 0.92 },
];

test.for(chooseSize({ ci: cases.slice(1, 2), show: cases, nightly: cases }))(
  "$streams streams through Hearth are nearly as fast as from llama.cpp's own server",
  { timeout: 900_000 },
  async ({ streams, tokens, bound }) => {
    // SmolLM2's end-of-sequence tokens.
    const endTokens = [0, 2];
    const model = "smollm2-135m-instruct-q4_1.gguf";
    await using pair = await startPair({ model, threads, slots: streams, endTokens });
    const { ratio, medians } = await compare(
      `socket-against-llama-server-${streams}`,
      { name: "Hearth", measure: () => throughput(pair.throughHearth, streams, tokens) },
      { name: "llama-server", measure: () => throughput(pair.directly, streams, tokens) },
    );
    recordFigure({
      claim: "engines 3",
      text: `${ratio.toFixed(3)} of llama.cpp's own server, ${streams} streams, ${threads} threads (${medians.map((each) => each.toFixed(1)).join(" against ")} tokens/s), needed ${bound}`,
    });
    expect(ratio).toBeGreaterThanOrEqual(lowerBound(bound));
  },
);
