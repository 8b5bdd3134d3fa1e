import { hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { type Pair, startPair } from "./beside-llama-server.ts";
import { median, percentile, sized, upperBound } from "./rounds.ts";
import { yardstick } from "./yardstick.ts";

const bound = 5;
/** Discarded, because code is still being compiled and the heap still grows. */
const warmUpRounds = sized(5, 1);
const rounds = sized(5, 1);
const requestsPerRound = sized(200, 50);
const request = { prompt: "What is 2+2?", maxTokens: 2 };

/** Alternates between both, and returns how much longer Hearth took to its first byte each time. */
async function addedMilliseconds({ throughHearth, directly }: Pair): Promise<readonly number[]> {
  const added: number[] = [];
  for (let turn = 0; turn < requestsPerRound; turn += 1) {
    const server = await directly(request);
    const hearth = await throughHearth(request);
    added.push(hearth.firstMilliseconds - server.firstMilliseconds);
  }
  return added;
}

/** The tiny model responds almost immediately, so that mainly the overhead in front of it is measured. */
test("the first byte of a warm short chat arrives within 5 ms of llama.cpp's own server", {
  timeout: 300_000,
}, async () => {
  const modelPath = await testModel("tiny-llama.gguf");
  await using pair = await startPair({ modelPath, threads: 1, slots: 1, endTokens: [1005, 1003] });
  for (let round = 0; round < warmUpRounds; round += 1) await addedMilliseconds(pair);
  const added: (readonly number[])[] = [];
  for (let round = 0; round < rounds; round += 1) added.push(await addedMilliseconds(pair));
  const p99 = median(added.map((round) => percentile(round, 0.99)));
  const p50 = median(added.flat());
  recordFigure({
    claim: "engines 4",
    text: `${p99.toFixed(2)} ms added to ${yardstick} at p99, median of ${rounds} rounds of ${requestsPerRound} (${p50.toFixed(2)} ms at p50), needed ${bound} or less`,
    counted: { reached: added.flat().length, needed: rounds * requestsPerRound },
  });
  // In CI the 99th percentile of a short round is the one request that another process delayed most.
  expect(hasLooseTimingBounds ? p50 : p99).toBeLessThanOrEqual(upperBound(bound));
});
