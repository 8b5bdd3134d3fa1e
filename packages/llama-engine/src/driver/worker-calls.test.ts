import type { EngineEvent } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import type { ToWorker } from "../channel/messages.ts";
import { WorkerCalls } from "./worker-calls.ts";

const never = new AbortController().signal;
const request = {
  input: { type: "raw", prompt: "a" },
  sampling: greedySampling,
  maxTokens: 1,
  cachePartition: "one",
} as const;

function open() {
  const sent: ToWorker[] = [];
  const calls = new WorkerCalls((message) => sent.push(message));
  const events = calls.generate(request, never);
  const first = events.next();
  const write = (text: string): void =>
    calls.handleMessage({ type: "events", id: 1, events: [{ type: "text-delta", text }] });
  return { calls, sent, events, first, write };
}

const end: EngineEvent = {
  type: "generation-end",
  reason: "stop",
  usage: { promptTokens: 1, cachedTokens: 0, outputTokens: 2 },
  timings: { promptMilliseconds: 1, outputMilliseconds: 1 },
};

test("events arrive in order, and a result ends them", async () => {
  const { calls, events, first, write } = open();
  write("a");
  write("b");
  calls.handleMessage({ type: "events", id: 1, events: [end] });
  calls.handleMessage({ type: "result", id: 1, value: null });
  const received: EngineEvent[] = [];
  const { value } = await first;
  for await (const event of events) received.push(event);
  expect([value, ...received]).toMatchObject([{ text: "a" }, { text: "b" }, { type: "generation-end" }]);
});

test("a result before the end of the output is an error, not an empty response", async () => {
  const { calls, first } = open();
  calls.handleMessage({ type: "result", id: 1, value: false });
  await expect(first).rejects.toThrow("The worker ended a generation before its end");
});

test("a worker that never stops writing ends its call, not the server", async () => {
  const { events, first, sent, write } = open();
  const text = "x".repeat(1024 * 1024);
  write(text);
  expect((await first).value).toMatchObject({ text });
  for (let written = 0; written < 1000; written += 1) write(text);
  expect(sent.at(-1)).toEqual({ type: "abort", id: 1 });
  let received = 0;
  const readAll = async (): Promise<void> => {
    while ((await events.next()).done !== true) received += 1;
  };
  await expect(readAll()).rejects.toThrow("More output is waiting to be read than fits into memory");
  expect(received).toBeLessThanOrEqual(32);
});

test("a result of the wrong type fails its call", async () => {
  const { calls } = open();
  const counted = calls.call("count", (id) => ({ type: "count", id, conversation: { messages: [] } }), never);
  calls.handleMessage({ type: "result", id: 2, value: "three" });
  await expect(counted).rejects.toThrow('The worker\'s result of "count" is invalid');
  const again = calls.call("count", (id) => ({ type: "count", id, conversation: { messages: [] } }), never);
  calls.handleMessage({ type: "result", id: 3, value: 3 });
  expect(await again).toBe(3);
});

test("when a grammar ends a worker, only its own request is blamed; the others can be retried", async () => {
  const calls = new WorkerCalls(() => undefined);
  const constraint = { type: "gbnf", grammar: 'root ::= "a"' } as const;
  const [own, other] = [calls.generate({ ...request, constraint }, never), calls.generate(request, never)];
  const failures = Promise.allSettled([own.next(), other.next()]);
  expect(calls.failAll({ kind: "grammar-too-slow", seconds: 10 })).toEqual([{ ...request, constraint }]);
  const later = calls.generate(request, never).next();
  expect(await failures).toMatchObject([
    { reason: { failure: { kind: "grammar-too-slow" } } },
    { reason: { failure: { kind: "engine-unloaded", wasInterrupted: true } } },
  ]);
  await expect(later).rejects.toMatchObject({ failure: { kind: "engine-unloaded" } });
});

test("when one of several grammars ends a worker, none of them is blamed, and none runs again by itself", async () => {
  const calls = new WorkerCalls(() => undefined);
  const constraint = { type: "gbnf", grammar: 'root ::= "a"' } as const;
  const requests = [1, 2].map(() => calls.generate({ ...request, constraint }, never));
  const failures = Promise.allSettled(requests.map((each) => each.next()));
  expect(calls.failAll({ kind: "grammar-too-slow", seconds: 10 })).toHaveLength(2);
  const unloaded = { reason: { failure: { kind: "engine-unloaded" } } };
  expect(await failures).toMatchObject([unloaded, unloaded]);
  expect(JSON.stringify(await failures)).not.toContain("wasInterrupted");
});
