import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type RunningClock, startRunningClock } from "./running-clock.ts";

const tickMilliseconds = 500;
let time: number;
let clock: RunningClock;
let ticks: number;

beforeEach(() => {
  time = 1000;
  ticks = 0;
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  vi.spyOn(performance, "now").mockImplementation(() => time);
  clock = startRunningClock(tickMilliseconds, () => {
    ticks += 1;
  });
});
afterEach(() => {
  clock.stop();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function run(milliseconds: number): void {
  for (let passed = 0; passed < milliseconds; passed += tickMilliseconds) {
    time += tickMilliseconds;
    vi.advanceTimersByTime(tickMilliseconds);
  }
}

test("the clock runs as fast as time while the process runs", () => {
  run(10_000);
  expect(clock.now()).toBe(10_000);
  time += 200;
  expect(clock.now()).toBe(10_200);
  expect(ticks).toBe(20);
});

test("a process that was stopped for a minute has run for a second at most", () => {
  run(5000);
  time += 60_000;
  expect(clock.now()).toBe(6000);
  vi.advanceTimersByTime(tickMilliseconds);
  expect(clock.now()).toBe(6000);
  run(5000);
  expect(clock.now()).toBe(11_000);
});
