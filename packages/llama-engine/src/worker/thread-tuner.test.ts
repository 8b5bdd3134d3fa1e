import { expect, test } from "vitest";
import { ThreadTuner } from "./thread-tuner.ts";

const alone = (threads: number): number => 100 / threads;
/** Threads that wait for one whose core is taken are slower than one thread alone. */
const contended = (threads: number): number => (threads === 1 ? 100 : 500);

/** As with a limit of two cores' worth of time. */
const limited = (threads: number): number => (threads <= 2 ? 100 / threads : 200);
const hardlyFaster = (threads: number): number => (threads === 1 ? 100 : threads === 2 ? 51 : 50);

type State = { readonly cost: (threads: number) => number; readonly free: number };

/** A machine whose batches take as long as it is told for each count of threads. */
function machine(cores: number, first: State) {
  let seconds = 0;
  let state = first;
  const tried = new Set<number>();
  const tuner = new ThreadTuner({
    mostThreads: cores,
    freeCores: () => state.free,
    now: () => seconds * 1000,
  });
  const work = (batches: number, tokens = 1): void => {
    for (let batch = 0; batch < batches; batch += 1) {
      const milliseconds = state.cost(tuner.threads);
      tried.add(tuner.threads);
      seconds += milliseconds / 1000;
      tuner.observe(tokens, milliseconds);
    }
  };
  return {
    tuner,
    tried,
    work,
    become: (next: State) => void (state = next),
    pass: (more: number) => void (seconds += more),
  };
}

test("on a free machine all cores are chosen, and counts below are tried only while they are not far slower", () => {
  const { tuner, work, tried } = machine(8, { cost: alone, free: 8 });
  tuner.startTrial(1);
  work(12);
  expect(tuner.isTrying).toBe(false);
  expect(tuner.threads).toBe(8);
  expect([...tried]).toEqual([8, 4]);
});

test("more threads than there are free cores are never tried", () => {
  const { tuner, work, tried } = machine(8, { cost: contended, free: 1.1 });
  tuner.startTrial(1);
  work(12);
  expect(tuner.threads).toBe(1);
  expect([...tried]).toEqual([1]);
});

test("when a count below is faster it is chosen: a limit on processor time looks like free cores", () => {
  const { tuner, work } = machine(8, { cost: limited, free: 8 });
  tuner.startTrial(1);
  work(30);
  expect(tuner.threads).toBe(2);
});

test("fewer threads are chosen when more are hardly faster", () => {
  const { tuner, work } = machine(4, { cost: hardlyFaster, free: 4 });
  tuner.startTrial(1);
  work(12);
  expect(tuner.threads).toBe(2);
});

test("a trial that is ended early takes the best it saw", () => {
  const { tuner, work } = machine(2, { cost: contended, free: 2 });
  tuner.startTrial(1);
  work(3);
  expect(tuner.threads).toBe(1);
  tuner.endTrial();
  expect(tuner.threads).toBe(1);
});

test("when speed falls counts are tried again on the batches that come, and when nothing falls they are not", () => {
  const { tuner, work, become, pass, tried } = machine(2, { cost: alone, free: 2 });
  tuner.startTrial(1);
  work(8);
  pass(5);
  tried.clear();
  work(20);
  expect([...tried]).toEqual([2]);
  become({ cost: contended, free: 1 });
  work(12);
  expect(tuner.threads).toBe(1);
});

test("a machine that has become free is noticed within seconds of work", () => {
  const { tuner, work, become } = machine(2, { cost: contended, free: 1 });
  tuner.startTrial(1);
  work(8);
  expect(tuner.threads).toBe(1);
  become({ cost: alone, free: 2 });
  work(60);
  expect(tuner.threads).toBe(2);
});

test("batches of different sizes are never compared, and a trial that sees none of its own is given up", () => {
  const { tuner, work } = machine(2, { cost: alone, free: 2 });
  tuner.startTrial(1);
  work(6, 512);
  expect(tuner.isTrying).toBe(true);
  work(60, 512);
  expect(tuner.isTrying).toBe(false);
  expect(tuner.threads).toBe(2);
});

test("a single thread is never changed", () => {
  const { tuner, work, become } = machine(1, { cost: alone, free: 8 });
  tuner.startTrial(1);
  work(10);
  become({ cost: contended, free: 1 });
  work(500);
  expect(tuner.threads).toBe(1);
});

test("a choice that a moment's noise made is looked at again within seconds, an honest one ever more rarely", () => {
  const { tuner, work, tried, become } = machine(2, { cost: contended, free: 2 });
  tuner.startTrial(1);
  work(16);
  expect(tuner.threads).toBe(1);
  become({ cost: alone, free: 2 });
  work(120);
  expect(tuner.threads).toBe(2);
  const slow = machine(2, { cost: contended, free: 2 });
  slow.tuner.startTrial(1);
  slow.work(16);
  slow.tried.clear();
  let trials = 0;
  for (let second = 0; second < 200; second += 1) {
    slow.tried.clear();
    slow.work(10);
    if (slow.tried.has(2)) trials += 1;
  }
  expect(trials).toBeGreaterThan(1);
  expect(trials).toBeLessThan(8);
  expect(tried.has(2)).toBe(true);
});
