import { expect, test } from "vitest";
import { countsToTry, ThreadTuner } from "./thread-tuner.ts";

const free = (threads: number): number => 100 / threads;

/** A machine whose batches take as long as it is told for each count of threads. */
function machine(counts: readonly number[]) {
  let seconds = 0;
  let cost = free;
  const tuner = new ThreadTuner(counts, () => seconds * 1000);
  const work = (batches: number, tokens = 1): void => {
    for (let batch = 0; batch < batches; batch += 1) {
      const milliseconds = cost(tuner.threads);
      seconds += milliseconds / 1000;
      tuner.observe(tokens, milliseconds);
    }
  };
  return {
    tuner,
    work,
    become: (next: (threads: number) => number) => void (cost = next),
    pass: (more: number) => void (seconds += more),
  };
}

/** Threads that wait for one whose core is taken are slower than one thread alone. */
const contended = (threads: number): number => (threads === 1 ? 100 : 500);

test("all cores are tried first, then half of them, down to one", () => {
  expect(countsToTry(12)).toEqual([12, 6, 3, 1]);
  expect(countsToTry(1)).toEqual([1]);
});

test("on a free machine all cores are chosen, on a contended one a single thread", () => {
  for (const [cost, expected] of [
    [free, 4],
    [contended, 1],
  ] as const) {
    const { tuner, work, become } = machine([4, 2, 1]);
    become(cost);
    tuner.startTrial(1);
    work(12);
    expect(tuner.isTrying).toBe(false);
    expect(tuner.threads).toBe(expected);
  }
});

test("fewer threads are chosen when more are hardly faster", () => {
  const { tuner, work, become } = machine([4, 2, 1]);
  become((threads) => (threads === 1 ? 100 : threads === 2 ? 51 : 50));
  tuner.startTrial(1);
  work(12);
  expect(tuner.threads).toBe(2);
});

test("a count that is far slower than the best ends the search below it", () => {
  const { tuner, work } = machine([8, 4, 2, 1]);
  tuner.startTrial(1);
  work(4);
  expect(tuner.threads).toBe(4);
  work(2);
  expect(tuner.isTrying).toBe(false);
  expect(tuner.threads).toBe(8);
});

test("when speed falls the counts are tried again on the batches that come, and when nothing falls they are not", () => {
  const { tuner, work, become, pass } = machine([2, 1]);
  tuner.startTrial(1);
  work(8);
  pass(5);
  work(20);
  expect(tuner.isTrying).toBe(false);
  expect(tuner.threads).toBe(2);
  become(contended);
  work(20);
  expect(tuner.threads).toBe(1);
});

test("a machine that has become free is noticed within a minute of work", () => {
  const { tuner, work, become } = machine([2, 1]);
  become(contended);
  tuner.startTrial(1);
  work(8);
  expect(tuner.threads).toBe(1);
  become(free);
  work(600);
  expect(tuner.threads).toBe(2);
});

test("batches of different sizes are never compared, and a trial that sees none of its own is given up", () => {
  const { tuner, work } = machine([2, 1]);
  tuner.startTrial(1);
  work(6, 512);
  expect(tuner.isTrying).toBe(true);
  work(60, 512);
  expect(tuner.isTrying).toBe(false);
  expect(tuner.threads).toBe(2);
});

test("a count that was given is never changed", () => {
  const { tuner, work, become } = machine([3]);
  tuner.startTrial(1);
  work(10);
  become(contended);
  work(500);
  expect(tuner.threads).toBe(3);
});
