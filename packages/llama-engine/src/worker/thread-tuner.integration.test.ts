import { expect, test } from "vitest";
import { ThreadTuner } from "./thread-tuner.ts";

const alone = (threads: number): number => 100 / threads;
/** With one core occupied, several threads that wait for each other are slower than one. */
const contended = (threads: number): number => (threads === 1 ? 100 : 500);

/** As with a CPU quota of two cores. */
const limited = (threads: number): number => (threads <= 2 ? 100 / threads : 200);
const hardlyFaster = (threads: number): number => (threads === 1 ? 100 : threads === 2 ? 51 : 50);

type State = { readonly cost: (threads: number) => number; readonly free: number };

/** A fake machine with a given batch duration for each number of threads. */
function createMachine(cores: number, first: State) {
  let seconds = 0;
  let state = first;
  const tried = new Set<number>();
  const tuner = new ThreadTuner({
    maxThreads: cores,
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

test("on an idle machine all cores are used, and smaller numbers are tried only until one is far slower", () => {
  const { tuner, work, tried } = createMachine(8, { cost: alone, free: 8 });
  tuner.startTrial(1);
  work(12);
  expect(tuner.isTrying).toBe(false);
  expect(tuner.threads).toBe(8);
  expect([...tried]).toEqual([8, 4]);
});

test("more threads than free cores are never tried", () => {
  const { tuner, work, tried } = createMachine(8, { cost: contended, free: 1.1 });
  tuner.startTrial(1);
  work(12);
  expect(tuner.threads).toBe(1);
  expect([...tried]).toEqual([1]);
});

test("a smaller number of threads is chosen if it is faster, as under a CPU quota, where cores look free", () => {
  const { tuner, work } = createMachine(8, { cost: limited, free: 8 });
  tuner.startTrial(1);
  work(30);
  expect(tuner.threads).toBe(2);
});

test("fewer threads are chosen if more are hardly faster", () => {
  const { tuner, work } = createMachine(4, { cost: hardlyFaster, free: 4 });
  tuner.startTrial(1);
  work(12);
  expect(tuner.threads).toBe(2);
});

test("a trial that ends early uses the best number so far", () => {
  const { tuner, work } = createMachine(2, { cost: contended, free: 2 });
  tuner.startTrial(1);
  work(3);
  expect(tuner.threads).toBe(1);
  tuner.endTrial();
  expect(tuner.threads).toBe(1);
});

test("a new trial starts when batches get slower, and only then", () => {
  const { tuner, work, become, pass, tried } = createMachine(2, { cost: alone, free: 2 });
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

test("cores that become free are noticed within seconds of work", () => {
  const { tuner, work, become } = createMachine(2, { cost: contended, free: 1 });
  tuner.startTrial(1);
  work(8);
  expect(tuner.threads).toBe(1);
  become({ cost: alone, free: 2 });
  work(60);
  expect(tuner.threads).toBe(2);
});

test("batches of different sizes are never compared, and a trial without batches of its size ends", () => {
  const { tuner, work } = createMachine(2, { cost: alone, free: 2 });
  tuner.startTrial(1);
  work(6, 512);
  expect(tuner.isTrying).toBe(true);
  work(60, 512);
  expect(tuner.isTrying).toBe(false);
  expect(tuner.threads).toBe(2);
});

test("a single core is never tuned", () => {
  const { tuner, work, become } = createMachine(1, { cost: alone, free: 8 });
  tuner.startTrial(1);
  work(10);
  become({ cost: contended, free: 1 });
  work(500);
  expect(tuner.threads).toBe(1);
});

test("a choice based on noise is corrected within seconds, a correct one is tried again less and less often", () => {
  const { tuner, work, tried, become } = createMachine(2, { cost: contended, free: 2 });
  tuner.startTrial(1);
  work(16);
  expect(tuner.threads).toBe(1);
  become({ cost: alone, free: 2 });
  work(120);
  expect(tuner.threads).toBe(2);
  const slow = createMachine(2, { cost: contended, free: 2 });
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

test("the first response is the trial: its prompt uses all free cores, and its first tokens are compared", () => {
  const { tuner, work, tried } = createMachine(8, { cost: limited, free: 8 });
  tuner.startTrialWithWork();
  work(100, 512);
  expect(tuner.isTrying).toBe(false);
  expect([...tried]).toEqual([8]);
  work(30);
  expect(tuner.threads).toBe(2);
});

test("until it is known how many cores are free, nothing is tried", () => {
  let free: number | undefined;
  const tuner = new ThreadTuner({ maxThreads: 2, freeCores: () => free, now: () => 0 });
  tuner.startTrialWithWork();
  tuner.observe(1, 100);
  expect(tuner.isTrying).toBe(false);
  free = 1;
  tuner.observe(1, 100);
  expect([tuner.isTrying, tuner.threads]).toEqual([false, 1]);
});
