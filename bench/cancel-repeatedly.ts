import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "@hearth-and-keep/engine";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { expect } from "vitest";
import { freshPartition, greedy, type LoadSmolLm, sentence, time, turn } from "./engine-under-test.ts";
import { percentile, upperBound } from "./rounds.ts";

export type CancellationPlan = { readonly load: LoadSmolLm; readonly claim: string };

/** The time from the cancellation of a request until the next one has the only sequence. */
async function freedAfter(engine: Engine, prompt: string, cancelAfterMilliseconds: number): Promise<number> {
  const cancellation = new AbortController();
  const pending = time(
    engine,
    greedy(prompt, { maxTokens: 4000, cachePartition: freshPartition() }),
    cancellation.signal,
  ).catch(() => undefined);
  await sleep(cancelAfterMilliseconds);
  const startedAt = performance.now();
  cancellation.abort(new Error("cancelled"));
  await pending;
  // A prompt and an output of one token each, so that nearly all of the time is spent waiting for the sequence.
  await time(engine, greedy("Hi", { maxTokens: 1, cachePartition: freshPartition() }));
  return performance.now() - startedAt;
}

/** Repeatedly cancels requests on an engine with one sequence, and checks how soon the next request has it. */
export async function cancelRepeatedly({ load, claim }: CancellationPlan): Promise<void> {
  await using engine = await load({ contextTokens: 8192, sequences: 1 });
  const rounds = chooseSize({ ci: 3, show: 100, nightly: 5000 });
  const generating: number[] = [];
  const evaluating: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    generating.push(await freedAfter(engine, turn(`Tell story ${round}.`), 150 + (round % 5) * 20));
    evaluating.push(await freedAfter(engine, `${round} ${sentence.repeat(400)}`, 50 + (round % 7) * 60));
  }
  const [whileGenerating, whileEvaluating] = [percentile(generating, 0.99), percentile(evaluating, 0.99)];
  const last = await time(engine, greedy(turn("Still there?"), { maxTokens: 4 }));
  recordFigure({
    claim,
    text: `freed after ${whileGenerating.toFixed(0)} ms during generation (needed 250) and ${whileEvaluating.toFixed(0)} ms during prompt evaluation (needed 2000), 99th percentile of ${generating.length + evaluating.length} cancellations, no sequence lost`,
    counted: { reached: generating.length + evaluating.length, needed: 2 * rounds },
  });
  expect(last.outputTokens).toBe(4);
  expect(whileGenerating).toBeLessThanOrEqual(upperBound(250));
  expect(whileEvaluating).toBeLessThanOrEqual(upperBound(2000));
}
