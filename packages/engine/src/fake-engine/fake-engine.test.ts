import { expect, test } from "vitest";
import type { GenerateRequest } from "../engine.ts";
import type { EngineEvent } from "../events.ts";
import { createScriptedEngine, type ScriptStep } from "./fake-engine.ts";
import { greedySampling } from "./greedy-sampling.ts";

const request: GenerateRequest = {
  input: { type: "raw", prompt: "Hello" },
  sampling: greedySampling,
  mostTokens: 10,
  cachePartition: "",
};

async function collect(events: AsyncIterable<EngineEvent>): Promise<EngineEvent[]> {
  const collected: EngineEvent[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

function playing(...steps: readonly ScriptStep[]) {
  return createScriptedEngine(() => steps);
}

const never = new AbortController().signal;

test("it says what it is told, counts its tokens, and records the request", async () => {
  const engine = playing(
    { do: "say", text: "Hel" },
    { do: "say", text: "lo" },
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

test("it fails where it is told, after what came before", async () => {
  const engine = playing(
    { do: "say", text: "Hel" },
    { do: "fail", failure: { kind: "not-supported", feature: "x" } },
  );
  const seen: EngineEvent[] = [];
  const failing = (async () => {
    for await (const event of engine.generate(request, never)) seen.push(event);
  })();
  await expect(failing).rejects.toMatchObject({ failure: { kind: "not-supported" } });
  expect(seen).toHaveLength(1);
});

test("a signal ends a wait at once and gives the place back", async () => {
  const engine = playing({ do: "wait", milliseconds: 60_000 });
  const hangUp = new AbortController();
  const pending = collect(engine.generate(request, hangUp.signal));
  await expect.poll(() => engine.underWay()).toBe(1);
  hangUp.abort(new Error("gone"));
  await expect(pending).rejects.toThrow("gone");
  expect(engine.underWay()).toBe(0);
});

test("an engine that dies tells everybody who waits, and those who come later", async () => {
  const failure = { kind: "engine-died", exitCode: null, signal: "SIGKILL" } as const;
  const engine = createScriptedEngine((_request, turn) =>
    turn === 1 ? [{ do: "wait", milliseconds: 60_000 }] : [{ do: "die", failure }],
  );
  const waiting = collect(engine.generate(request, never));
  await expect.poll(() => engine.underWay()).toBe(1);
  await expect(collect(engine.generate(request, never))).rejects.toMatchObject({ failure });
  await expect(waiting).rejects.toMatchObject({ failure });
  await expect(collect(engine.generate(request, never))).rejects.toMatchObject({ failure });
  expect(await engine.ended).toEqual(failure);
});
