import type { EngineEvent, EngineFailure, EngineRequest } from "@hearth-and-keep/engine";
import {
  createFakeEngine,
  type FakeEngine,
  type FakeEngineStep,
  greedySampling,
} from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import type { Lease } from "../scheduling/load-request.ts";
import { GrowingLease } from "./growing-lease.ts";

const never = new AbortController().signal;
const windowTokens = 32_768;

type Fixture = {
  readonly lease: GrowingLease;
  /** The contexts that were asked for, in order. */
  readonly needed: readonly number[];
  readonly engines: readonly FakeEngine[];
  readonly releases: readonly number[];
};

/** Every load has twice the context of the one before; the scripts are played one after the other. */
function createFixture(...scripts: readonly (readonly FakeEngineStep[])[]): Fixture {
  const needed: number[] = [];
  const releases: number[] = [];
  const engines = scripts.map((steps) => createFakeEngine(() => steps));
  const leaseOf = (index: number): Lease => {
    const engine = engines[index];
    if (engine === undefined) throw new Error("There is no script for another load");
    return {
      engine,
      contextTokens: 8192 * 2 ** index,
      window: { tokens: windowTokens, limitedBy: "memory" },
      loadMilliseconds: 0,
      queueMilliseconds: 0,
      position: 0,
      isWanted: () => false,
      addTokens: () => undefined,
      measure: () => undefined,
      [Symbol.dispose]: () => void releases.push(index),
    };
  };
  const lease = new GrowingLease(leaseOf(0), async (tokens) => leaseOf(needed.push(tokens)));
  return { lease, needed, engines, releases };
}

function request(changes: Partial<EngineRequest> = {}): EngineRequest {
  const conversation = { messages: [{ role: "user", content: "Hi" }] } as const;
  const input = { type: "conversation", conversation } as const;
  return { input, sampling: greedySampling, maxTokens: 100_000, cachePartition: "", ...changes };
}

async function textOf(events: AsyncIterable<EngineEvent>): Promise<string> {
  let text = "";
  for await (const event of events) if (event.type === "text-delta") text += event.text;
  return text;
}

function tooLong(promptTokens: number): FakeEngineStep {
  return { do: "fail", failure: { kind: "prompt-too-long", promptTokens, contextTokens: 8192 } };
}

const hello: readonly FakeEngineStep[] = [
  { do: "write", text: "Hello" },
  { do: "end", reason: "stop" },
];

test("a prompt that outgrows the loaded context is run again with a larger one", async () => {
  const { lease, needed, engines, releases } = createFixture([tooLong(9000)], hello);
  expect(await textOf(lease.engine.generate(request(), never))).toBe("Hello");
  expect(needed).toEqual([9000 + 2048]);
  expect(engines.map(({ requests }) => requests[0]?.reservedTokens)).toEqual([2048, 2048]);
  expect(engines[0]?.requests[0]?.contextTokens).toBe(windowTokens);
  expect(releases).toEqual([0]);
  lease[Symbol.dispose]();
  expect(releases).toEqual([0, 1]);
});

test("a prompt that exceeds the window is rejected with the window and what limits it", async () => {
  const { lease, needed } = createFixture([tooLong(40_000)]);
  const failure: EngineFailure = {
    kind: "prompt-too-long",
    promptTokens: 40_000,
    contextTokens: windowTokens,
    limitedBy: "memory",
  };
  await expect(textOf(lease.engine.generate(request(), never))).rejects.toMatchObject({ failure });
  expect(needed).toEqual([]);
});

test("output that fills the loaded context goes on in a larger one, as one response", async () => {
  const full: readonly FakeEngineStep[] = [
    { do: "write", text: "one " },
    { do: "write", text: "two " },
    { do: "end", reason: "length" },
  ];
  const { lease, needed, engines } = createFixture(full, [
    { do: "write", text: "three" },
    { do: "end", reason: "stop" },
  ]);
  const events = await Array.fromAsync(lease.engine.generate(request(), never));
  expect(events.map((event) => (event.type === "text-delta" ? event.outputTokens : event.type))).toEqual([
    1,
    2,
    3,
    "generation-end",
  ]);
  expect(events.at(-1)).toMatchObject({ reason: "stop", usage: { promptTokens: 1, outputTokens: 3 } });
  expect(needed).toEqual([1 + 2 + 2048]);
  const [continued] = engines[1]?.requests ?? [];
  expect(continued?.input).toEqual({ type: "raw", prompt: "user: Hione two " });
  expect(continued?.maxTokens).toBe(100_000 - 2);
});

const cut: readonly FakeEngineStep[] = [
  { do: "write", text: "one" },
  { do: "end", reason: "length" },
];

test.each([
  ["the requested length is reached", { maxTokens: 1 }],
  ["a grammar applies", { constraint: { type: "json" } }],
  ["it fills in the middle", { input: { type: "fill-in-the-middle", prefix: "a", suffix: "b" } }],
] as const)("output does not go on if %s", async (_reason, changes) => {
  const { lease, needed } = createFixture(cut);
  const events = await Array.fromAsync(lease.engine.generate(request(changes), never));
  expect([events.at(-1), needed]).toMatchObject([{ reason: "length" }, []]);
});

test("under a grammar, the whole output has room from the start", async () => {
  const { lease, engines } = createFixture(hello);
  await textOf(lease.engine.generate(request({ constraint: { type: "json" } }), never));
  expect(engines[0]?.requests[0]?.reservedTokens).toBe(16_384);
});

test("other failures pass through", async () => {
  const { lease, needed } = createFixture([{ do: "fail", failure: { kind: "image-unreadable" } }]);
  await expect(textOf(lease.engine.generate(request(), never))).rejects.toMatchObject({
    failure: { kind: "image-unreadable" },
  });
  expect(needed).toEqual([]);
});
