/**
 * @module
 * Benchmarks, one question per file. Every figure is a ratio taken in one run: the two sides take turns, round after
 * round, and the median of five rounds counts, because machines are shared and noisy. Each also writes its rounds
 * as JSON and a plot into build/bench. Nothing imports them; `show` and CI run them as tests.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { hasLooseTimingBounds } from "@hearth-and-keep/figures";
import { drawBars } from "./draw-bars.ts";

export type Side = { readonly name: string; readonly measure: () => Promise<number> };

export type Comparison = {
  readonly ratio: number;
  readonly medians: readonly [number, number];
  readonly rounds: readonly (readonly [number, number])[];
};

/**
 * The size of a benchmark. CI runs a smoke test, which only proves that the benchmark still measures something
 * plausible; `npm run show` runs the real size and judges it.
 */
export function sized(real: number, smoke: number): number {
  return hasLooseTimingBounds ? smoke : real;
}

const roundCount = sized(5, 1);
/** Thrown away, because caches are cold. */
const warmUpRounds = sized(1, 0);
const outputFolder = resolve(import.meta.dirname, "../build/bench");

/** Ours over theirs, interleaved. */
export async function compare(question: string, ours: Side, theirs: Side): Promise<Comparison> {
  const rounds: [number, number][] = [];
  for (let round = -warmUpRounds; round < roundCount; round += 1) {
    // The order alternates, so that neither side always finds the machine as the other left it.
    const isOursFirst = round % 2 === 0;
    const first = await (isOursFirst ? ours : theirs).measure();
    const second = await (isOursFirst ? theirs : ours).measure();
    if (round >= 0) rounds.push(isOursFirst ? [first, second] : [second, first]);
  }
  const ratio = median(rounds.map(([our, their]) => our / their));
  const medians = [median(rounds.map(([our]) => our)), median(rounds.map(([, their]) => their))] as const;
  keep(question, { ratio, medians, rounds, sides: [ours.name, theirs.name] });
  return { ratio, medians, rounds };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** The worst of many times. One of them is the machine's own in CI, so there the slowest twentieth counts. */
export function worstOf(times: readonly number[]): number {
  return hasLooseTimingBounds ? percentile(times, 0.95) : Math.max(...times);
}

/** Inside CI a bound is loosened, so that only a real regression turns it red; `show` judges it exactly. */
export function lowerBound(bound: number): number {
  return hasLooseTimingBounds ? bound * 0.4 : bound;
}

export function upperBound(bound: number): number {
  return hasLooseTimingBounds ? bound * 4 : bound;
}

type Kept = Comparison & { readonly sides: readonly [string, string] };

function keep(question: string, kept: Kept): void {
  mkdirSync(outputFolder, { recursive: true });
  writeFileSync(join(outputFolder, `${question}.json`), `${JSON.stringify(kept, null, 2)}\n`);
  const bars = kept.rounds.flatMap(([our, their], round) => [
    { label: `${kept.sides[0]} ${round + 1}`, value: our, isOurs: true },
    { label: `${kept.sides[1]} ${round + 1}`, value: their, isOurs: false },
  ]);
  writeFileSync(
    join(outputFolder, `${question}.svg`),
    drawBars(`${question}: ratio ${kept.ratio.toFixed(3)}`, bars),
  );
}
