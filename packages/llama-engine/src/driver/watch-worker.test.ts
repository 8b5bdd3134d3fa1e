import type { GenerateRequest } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ToWorker } from "../worker/messages.ts";
import { type Watch, watchWorker } from "./watch-worker.ts";

let watch: Watch;
let hung: string[];

beforeEach(() => {
  vi.useFakeTimers();
  hung = [];
  watch = watchWorker(({ kind }) => hung.push(kind));
});
afterEach(() => {
  watch.stop();
  vi.useRealTimers();
});

function generate(id: number, constraint?: GenerateRequest["constraint"]): ToWorker {
  const request = {
    input: { type: "raw", prompt: "a" },
    sampling: greedySampling,
    mostTokens: 1,
    cachePartition: "one",
    ...(constraint === undefined ? {} : { constraint }),
  } as const;
  return { type: "generate", id, request };
}

/** A worker whose event loop turns, whatever its native thread does. */
function beat(seconds: number, choosing: (second: number) => number = () => 0): void {
  for (let second = 1; second <= seconds; second += 1) {
    vi.advanceTimersByTime(1000);
    watch.heard({ type: "heartbeat", threads: 1, choosingSeconds: choosing(second) });
  }
}

test("a worker that is heard of is left alone, one that falls silent is not", () => {
  beat(60);
  expect(hung).toEqual([]);
  vi.advanceTimersByTime(10_500);
  expect(hung).toEqual(["engine-hung"]);
});

test("a token that takes for ever to choose is found out though heartbeats go on, and blamed on the grammar", () => {
  watch.asked(generate(1, { type: "json" }));
  beat(10, (second) => second);
  expect(hung).toEqual([]);
  beat(1, () => 11);
  expect(hung).toEqual(["grammar-too-slow"]);
});

test("an engine that reads a long prompt or waits may take its time, under a grammar too", () => {
  watch.asked(generate(1, { type: "json" }));
  beat(120);
  expect(hung).toEqual([]);
});

test("silence is blamed on a grammar only while one is in use", () => {
  watch.asked(generate(1, { type: "json" }));
  watch.heard({ type: "answer", id: 1, value: null });
  vi.advanceTimersByTime(10_500);
  expect(hung).toEqual(["engine-hung"]);
  watch.asked(generate(2, { type: "json" }));
  vi.advanceTimersByTime(500);
  expect(hung.at(-1)).toBe("grammar-too-slow");
});
