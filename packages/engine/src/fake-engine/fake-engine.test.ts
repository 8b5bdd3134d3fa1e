import { expect, test } from "vitest";
import type { EngineRequest } from "../engine.ts";
import type { EngineEvent } from "../events.ts";
import { createFakeEngine, type FakeEngineStep } from "./fake-engine.ts";
import { greedySampling } from "./greedy-sampling.ts";

const request: EngineRequest = {
  input: { type: "raw", prompt: "Hello" },
  sampling: greedySampling,
  maxTokens: 10,
  cachePartition: "",
};

async function collect(events: AsyncIterable<EngineEvent>): Promise<EngineEvent[]> {
  const collected: EngineEvent[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

function createEngine(...steps: readonly FakeEngineStep[]) {
  return createFakeEngine(() => steps);
}

const never = new AbortController().signal;

test("it writes the scripted text, counts tokens and records the request", async () => {
  const engine = createEngine(
    { do: "write", text: "Hel" },
    { do: "write", text: "lo" },
    { do: "end", reason: "stop" },
  );
  const events = await collect(engine.generate(request, never));
  expect(events.map((event) => (event.type === "text-delta" ? event.text : event.type))).toEqual([
    "Hel",
    "lo",
    "generation-end",
  ]);
  expect(events.at(-1)).toMatchObject({ reason: "stop", usage: { outputTokens: 2 } });
  expect(engine.requests).toEqual([request]);
});

test("a scripted failure comes after the events before it", async () => {
  const engine = createEngine(
    { do: "write", text: "Hel" },
    { do: "fail", failure: { kind: "not-supported", feature: "x" } },
  );
  const seen: EngineEvent[] = [];
  const failing = (async () => {
    for await (const event of engine.generate(request, never)) seen.push(event);
  })();
  await expect(failing).rejects.toMatchObject({ failure: { kind: "not-supported" } });
  expect(seen).toHaveLength(1);
});

test("an aborted request stops waiting at once and is no longer active", async () => {
  const engine = createEngine({ do: "wait", milliseconds: 60_000 });
  const client = new AbortController();
  const pending = collect(engine.generate(request, client.signal));
  await expect.poll(() => engine.activeRequests()).toBe(1);
  client.abort(new Error("gone"));
  await expect(pending).rejects.toThrow("gone");
  expect(engine.activeRequests()).toBe(0);
});

test("a crash fails running requests and all later ones", async () => {
  const failure = { kind: "engine-crashed", exitCode: null, signal: "SIGKILL" } as const;
  const engine = createFakeEngine((_request, turn) =>
    turn === 1 ? [{ do: "wait", milliseconds: 60_000 }] : [{ do: "crash", failure }],
  );
  const running = collect(engine.generate(request, never));
  await expect.poll(() => engine.activeRequests()).toBe(1);
  await expect(collect(engine.generate(request, never))).rejects.toMatchObject({ failure });
  await expect(running).rejects.toMatchObject({ failure });
  await expect(collect(engine.generate(request, never))).rejects.toMatchObject({ failure });
  expect(await engine.closed).toEqual(failure);
});
