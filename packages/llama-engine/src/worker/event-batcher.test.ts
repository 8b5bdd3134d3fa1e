import type { EngineEvent } from "@hearth-and-keep/engine";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createEventBatcher } from "./event-batcher.ts";

const progress: EngineEvent = { type: "prompt-progress", evaluated: 8, total: 8, cached: 0 };
const token = (outputTokens: number): EngineEvent => ({ type: "text-delta", text: "a", outputTokens });

beforeEach(() => {
  vi.useFakeTimers();
  // Nothing was sent for a while.
  vi.advanceTimersByTime(1000);
});
afterEach(() => void vi.useRealTimers());

function createRecorded() {
  const sent: (readonly EngineEvent[])[] = [];
  return { sent, batcher: createEventBatcher((events) => sent.push(events)) };
}

test("the first token is sent at once, although the progress of its prompt was sent just before", async () => {
  const { sent, batcher } = createRecorded();
  batcher.push(progress);
  await vi.advanceTimersByTimeAsync(0);
  expect(sent).toEqual([[progress]]);
  batcher.push(token(1));
  await vi.advanceTimersByTimeAsync(0);
  expect(sent).toEqual([[progress], [token(1)]]);
});

test("tokens that follow within milliseconds are sent together, merged into one event", async () => {
  const { sent, batcher } = createRecorded();
  batcher.push(token(1));
  await vi.advanceTimersByTimeAsync(0);
  batcher.push(token(2));
  batcher.push(token(3));
  await vi.advanceTimersByTimeAsync(5);
  expect(sent).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(15);
  expect(sent).toEqual([[token(1)], [{ type: "text-delta", text: "aa", outputTokens: 3 }]]);
});

test("closing sends what is left", () => {
  const { sent, batcher } = createRecorded();
  batcher.push(token(1));
  batcher.close();
  expect(sent).toEqual([[token(1)]]);
});
