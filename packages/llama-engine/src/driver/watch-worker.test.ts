import type { EngineRequest } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ToWorker } from "../channel/messages.ts";
import { type WorkerWatch, watchWorker } from "./watch-worker.ts";

let watch: WorkerWatch;
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

function generate(id: number, constraint?: EngineRequest["constraint"]): ToWorker {
  const request = {
    input: { type: "raw", prompt: "a" },
    sampling: greedySampling,
    maxTokens: 1,
    cachePartition: "one",
    ...(constraint === undefined ? {} : { constraint }),
  } as const;
  return { type: "generate", id, request };
}

/** Simulates a worker whose event loop runs, whatever its native thread does. */
function sendHeartbeats(seconds: number, samplingSeconds: (second: number) => number = () => 0): void {
  for (let second = 1; second <= seconds; second += 1) {
    vi.advanceTimersByTime(1000);
    watch.received({ type: "heartbeat", threads: 1, samplingSeconds: samplingSeconds(second) });
  }
}

test("a worker hangs if it sends nothing, but not while it sends heartbeats", () => {
  sendHeartbeats(60);
  expect(hung).toEqual([]);
  vi.advanceTimersByTime(10_500);
  expect(hung).toEqual(["engine-hung"]);
});

test("a token that never finishes sampling is detected despite heartbeats and attributed to the grammar", () => {
  watch.sent(generate(1, { type: "json" }));
  sendHeartbeats(10, (second) => second);
  expect(hung).toEqual([]);
  sendHeartbeats(2, (second) => 10 + second);
  expect(hung).toEqual(["grammar-too-slow"]);
});

test("a worker that was stopped while it sampled is not killed", () => {
  watch.sent(generate(1, { type: "json" }));
  sendHeartbeats(10, () => 0);
  sendHeartbeats(1, () => 15);
  sendHeartbeats(10, () => 0);
  expect(hung).toEqual([]);
});

test("a long prompt or a queue under a grammar does not count as a hang", () => {
  watch.sent(generate(1, { type: "json" }));
  sendHeartbeats(120);
  expect(hung).toEqual([]);
});

test("a hang is attributed to a grammar only while one is in use", () => {
  watch.sent(generate(1, { type: "json" }));
  watch.received({ type: "result", id: 1, value: null });
  vi.advanceTimersByTime(10_500);
  expect(hung).toEqual(["engine-hung"]);
  watch.sent(generate(2, { type: "json" }));
  vi.advanceTimersByTime(500);
  expect(hung.at(-1)).toBe("grammar-too-slow");
});
