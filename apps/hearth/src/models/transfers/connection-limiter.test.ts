import { expect, test } from "vitest";
import { createLanes } from "./connection-limiter.ts";

const { signal } = new AbortController();

test("no more enter than there is room for, in all and to one host, and who asked first enters first", async () => {
  const lanes = createLanes({ most: 3, mostToHost: 2 });
  const entered: string[] = [];
  const enter = async (name: string) => {
    const lane = await lanes.enter(name.slice(0, 1), signal);
    entered.push(name);
    return lane;
  };
  const [a1, , , b1] = ["a1", "a2", "a3", "b1", "b2"].map(enter);
  await b1;
  expect(entered).toEqual(["a1", "a2", "b1"]);
  (await a1)?.[Symbol.dispose]();
  await new Promise(setImmediate);
  expect(entered).toEqual(["a1", "a2", "b1", "a3"]);
  (await b1)?.[Symbol.dispose]();
  await new Promise(setImmediate);
  expect(entered).toEqual(["a1", "a2", "b1", "a3", "b2"]);
});

test("whoever leaves while waiting takes no room", async () => {
  const lanes = createLanes({ most: 1, mostToHost: 1 });
  const first = await lanes.enter("a", signal);
  const leaving = new AbortController();
  const second = lanes.enter("a", leaving.signal);
  const third = lanes.enter("a", signal);
  leaving.abort(new Error("left"));
  await expect(second).rejects.toThrow("left");
  first[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  await expect(lanes.enter("a", leaving.signal)).rejects.toThrow("left");
});
