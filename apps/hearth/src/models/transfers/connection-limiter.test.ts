import { expect, test } from "vitest";
import { createConnectionLimiter } from "./connection-limiter.ts";

const { signal } = new AbortController();

test("connections are limited in total and per host, and granted in order of arrival", async () => {
  const limiter = createConnectionLimiter({ maxConnections: 3, maxConnectionsPerHost: 2 });
  const acquired: string[] = [];
  const acquire = async (name: string) => {
    const connection = await limiter.acquire(name.slice(0, 1), signal);
    acquired.push(name);
    return connection;
  };
  const [a1, , , b1] = ["a1", "a2", "a3", "b1", "b2"].map(acquire);
  await b1;
  expect(acquired).toEqual(["a1", "a2", "b1"]);
  (await a1)?.[Symbol.dispose]();
  await new Promise(setImmediate);
  expect(acquired).toEqual(["a1", "a2", "b1", "a3"]);
  (await b1)?.[Symbol.dispose]();
  await new Promise(setImmediate);
  expect(acquired).toEqual(["a1", "a2", "b1", "a3", "b2"]);
});

test("an aborted waiter does not hold a connection", async () => {
  const limiter = createConnectionLimiter({ maxConnections: 1, maxConnectionsPerHost: 1 });
  const first = await limiter.acquire("a", signal);
  const controller = new AbortController();
  const second = limiter.acquire("a", controller.signal);
  const third = limiter.acquire("a", signal);
  controller.abort(new Error("aborted"));
  await expect(second).rejects.toThrow("aborted");
  first[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  await expect(limiter.acquire("a", controller.signal)).rejects.toThrow("aborted");
});
