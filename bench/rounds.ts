/**
 * @module
 * Benchmarks, one comparison per file. Every figure is a ratio measured in one run: the two sides alternate, and the
 * median of five rounds counts, because machines are shared and noisy. Each benchmark also writes its rounds as JSON
 * and a plot to build/bench. Nothing imports the benchmarks; `show` and CI run them as tests.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { chooseSize, hasLooseTimingBounds } from "@hearth-and-keep/figures";
import { drawBars } from "./draw-bars.ts";

export type Side = { readonly name: string; readonly measure: () => Promise<number> };

export type Comparison = {
  readonly ratio: number;
  readonly medians: readonly [number, number];
  readonly rounds: readonly (readonly [number, number])[];
};

/**
 * The size of a benchmark. CI runs a smoke test, which only proves that the benchmark still measures something
 * plausible; `npm run show` runs the real size and checks the result.
 */
export function sized(real: number, smoke: number): number {
  return chooseSize({ ci: smoke, show: real, nightly: real });
}

const roundCount = sized(5, 1);
/** Discarded: the first requests load the model and fill the caches. A smoke test can do without. */
const warmUpRounds = sized(1, 0);
const outputFolder = resolve(import.meta.dirname, "../build/bench");

/** Measures both sides alternately, once per round; the ratio is ours divided by theirs. */
export function compare(name: string, ours: Side, theirs: Side): Promise<Comparison> {
  return compareInTurns({ name, ours, theirs, turns: 1 });
}

export type TurnPlan = {
  readonly name: string;
  readonly ours: Side;
  readonly theirs: Side;
  /** How often a round measures each side; the median counts. */
  readonly turns: number;
};

/** Like `compare`, for measurements so short that one of them is mostly noise. */
export async function compareInTurns({ name, ours, theirs, turns }: TurnPlan): Promise<Comparison> {
  const rounds: (readonly [number, number])[] = [];
  for (let round = -warmUpRounds; round < roundCount; round += 1) {
    const measured: [number, number][] = [];
    for (let turn = 0; turn < turns; turn += 1) {
      // The order alternates, so that neither side always runs right after the other.
      const isOursFirst = (round + turn) % 2 === 0;
      const first = await (isOursFirst ? ours : theirs).measure();
      const second = await (isOursFirst ? theirs : ours).measure();
      measured.push(isOursFirst ? [first, second] : [second, first]);
    }
    if (round >= 0) rounds.push(mediansOf(measured));
  }
  const ratio = median(rounds.map(([our, their]) => our / their));
  const medians = mediansOf(rounds);
  writeResults(name, { ratio, medians, rounds, sides: [ours.name, theirs.name] });
  return { ratio, medians, rounds };
}

function mediansOf(pairs: readonly (readonly [number, number])[]): readonly [number, number] {
  return [median(pairs.map(([our]) => our)), median(pairs.map(([, their]) => their))];
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** The slowest of many times; in CI the 95th percentile, because other processes cause outliers there. */
export function worstOf(times: readonly number[]): number {
  return hasLooseTimingBounds ? percentile(times, 0.95) : Math.max(...times);
}

/** One short round beside other tests says little, so CI fails only far outside a bound; `show` uses the exact one. */
export function lowerBound(bound: number): number {
  return hasLooseTimingBounds ? bound * 0.1 : bound;
}

export function upperBound(bound: number): number {
  return hasLooseTimingBounds ? bound * 10 : bound;
}

type Results = Comparison & { readonly sides: readonly [string, string] };

function writeResults(name: string, results: Results): void {
  mkdirSync(outputFolder, { recursive: true });
  writeFileSync(join(outputFolder, `${name}.json`), `${JSON.stringify(results, null, 2)}\n`);
  const bars = results.rounds.flatMap(([our, their], round) => [
    { label: `${results.sides[0]} ${round + 1}`, value: our, isOurs: true },
    { label: `${results.sides[1]} ${round + 1}`, value: their, isOurs: false },
  ]);
  writeFileSync(
    join(outputFolder, `${name}.svg`),
    drawBars(`${name}: ratio ${results.ratio.toFixed(3)}`, bars),
  );
}
