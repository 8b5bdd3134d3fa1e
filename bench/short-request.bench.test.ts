import { setTimeout as sleep } from "node:timers/promises";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { freshPartition, greedy, loadSmolLm, sentence, time, turn } from "./engine-under-test.ts";
import { compare, median, sized, upperBound } from "./rounds.ts";

/** Between short requests, so that each comes at a different point of a batch step. */
const pauses = [500, 210, 243, 276, 309];

function short(round: number) {
  return greedy(turn(`Say hello to visitor ${round}, please.`), {
    maxTokens: 4,
    cachePartition: freshPartition(),
  });
}

test("a short request gets its first token quickly while a long prompt is evaluated", {
  timeout: 300_000,
}, async () => {
  await using engine = await loadSmolLm({ contextTokens: 8192, sequences: 2 });
  const long = sentence.repeat(sized(400, 150));
  let round = 0;
  const { ratio, medians } = await compare(
    "first-token-while-evaluating",
    {
      name: "during prompt evaluation",
      measure: async () => {
        const cancellation = new AbortController();
        const evaluating = time(
          engine,
          greedy(`${freshPartition()} ${long}`, { cachePartition: freshPartition() }),
          cancellation.signal,
        ).catch(() => undefined);
        const waits: number[] = [];
        for (const pause of pauses) {
          await sleep(pause);
          waits.push((await time(engine, short((round += 1)))).firstMilliseconds);
        }
        cancellation.abort(new Error("enough"));
        await evaluating;
        return median(waits);
      },
    },
    {
      name: "alone",
      measure: async () => {
        // The cancelled prompt of the other side may still be computing its last step; this request waits for it.
        await time(engine, short((round += 1)));
        return (await time(engine, short((round += 1)))).firstMilliseconds;
      },
    },
  );
  for (const claim of ["engine 5", "lean 5"])
    recordFigure({
      claim,
      text: `${ratio.toFixed(2)} times the time alone (${medians.map((each) => each.toFixed(0)).join(" against ")} ms), needed 3 or less`,
    });
  expect(ratio).toBeLessThanOrEqual(upperBound(3));
});

test("a long prompt is delayed little by short requests beside it", { timeout: 900_000 }, async () => {
  await using engine = await loadSmolLm({ contextTokens: 8192, sequences: 2 });
  const long = sentence.repeat(sized(400, 40));
  let round = 0;
  const readLong = async (): Promise<number> => {
    const request = greedy(`${freshPartition()} ${long}`, { maxTokens: 1, cachePartition: freshPartition() });
    return (await time(engine, request)).firstMilliseconds;
  };
  const { ratio, medians } = await compare(
    "long-prompt-beside-short-requests",
    {
      name: "beside short requests",
      measure: async () => {
        const reading = readLong();
        for (const pause of pauses) {
          await sleep(pause);
          await time(engine, short((round += 1)));
        }
        return reading;
      },
    },
    { name: "alone", measure: readLong },
  );
  recordFigure({
    claim: "lean 5",
    text: `the long prompt takes ${ratio.toFixed(2)} times as long with ${pauses.length} short requests beside it as alone (${medians.map((each) => each.toFixed(0)).join(" against ")} ms), needed 1.3 or less`,
  });
  expect(ratio).toBeLessThanOrEqual(upperBound(1.3));
});
