import { expect, test, vi } from "vitest";
import { WaitingList } from "./change-queue.ts";

test("items are taken in the order of their arrival", () => {
  const list = new WaitingList<number>();
  for (const item of [1, 2, 3]) list.add(item);
  expect(list.take(2)).toEqual([1, 2]);
  expect(list.take(2)).toEqual([3]);
  expect(list.length).toBe(0);
});

test("waiting ends with the last awaited item, or when the time is up", async () => {
  vi.useFakeTimers();
  const list = new WaitingList<number>();
  list.add(1);
  await list.waitUntilHolds(1, 1000);
  const ended: string[] = [];
  const enough = list.waitUntilHolds(3, 1000).then(() => ended.push("enough"));
  list.add(2);
  await vi.advanceTimersByTimeAsync(999);
  expect(ended).toEqual([]);
  list.add(3);
  await enough;
  expect(vi.getTimerCount()).toBe(0);
  const tooLate = list.waitUntilHolds(4, 1000).then(() => ended.push("time is up"));
  await vi.advanceTimersByTimeAsync(1000);
  await tooLate;
  expect([ended, list.length]).toEqual([["enough", "time is up"], 3]);
  vi.useRealTimers();
});
