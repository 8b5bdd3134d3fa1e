import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "@hearth-and-keep/engine";
import { recordFigure, scale } from "@hearth-and-keep/figures";
import { expect } from "vitest";
import { freshPartition, greedy, type LoadSmolLm, sentence, time, turn } from "./engine-under-test.ts";
import { percentile, sized, upperBound } from "./rounds.ts";

export type HangUpPlan = { readonly load: LoadSmolLm; readonly claim: string };

/** How long after a hang-up a newcomer gets the only sequence. */
async function freedAfter(engine: Engine, prompt: string, hangUpAfterMilliseconds: number): Promise<number> {
  const hangUp = new AbortController();
  const pending = time(
    engine,
    greedy(prompt, { maxTokens: 4000, cachePartition: freshPartition() }),
    hangUp.signal,
  ).catch(() => undefined);
  await sleep(hangUpAfterMilliseconds);
  const startedAt = performance.now();
  hangUp.abort(new Error("gone"));
  await pending;
  // One token from one token: what it takes beyond that is the wait for the sequence.
  await time(engine, greedy("Hi", { maxTokens: 1, cachePartition: freshPartition() }));
  return performance.now() - startedAt;
}

/** Hangs up on the only sequence of an engine again and again, and judges how soon the next caller has it. */
export async function hangUpOften({ load, claim }: HangUpPlan): Promise<void> {
  await using engine = await load({ contextTokens: 8192, sequences: 1 });
  const rounds = scale === "nightly" ? 5000 : sized(100, 3);
  const writing: number[] = [];
  const reading: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    writing.push(await freedAfter(engine, turn(`Tell story ${round}.`), 150 + (round % 5) * 20));
    reading.push(await freedAfter(engine, `${round} ${sentence.repeat(400)}`, 50 + (round % 7) * 60));
  }
  const [afterWriting, afterReading] = [percentile(writing, 0.99), percentile(reading, 0.99)];
  const last = await time(engine, greedy(turn("Still there?"), { maxTokens: 4 }));
  recordFigure({
    claim,
    text: `freed after ${afterWriting.toFixed(0)} ms while writing (needed 250) and ${afterReading.toFixed(0)} ms while reading (needed 2000), 99th percentile of ${writing.length + reading.length} hang-ups, no sequence lost`,
    counted: { reached: writing.length + reading.length, needed: 2 * rounds },
  });
  expect(last.outputTokens).toBe(4);
  expect(afterWriting).toBeLessThanOrEqual(upperBound(250));
  expect(afterReading).toBeLessThanOrEqual(upperBound(2000));
}
