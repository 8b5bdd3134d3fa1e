import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { EngineEvent } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import type { EnginePool } from "./engine-pool.ts";
import { createEnginePool, createPoolDriver, type PoolPlan } from "./pool-driver.ts";
import { chunk, type FakeEngine, playEngine, say } from "./test/fake-engine.ts";
import { never, planOf, request, untilWell } from "./test/pool-fixture.ts";

type Stage = AsyncDisposable & {
  readonly plan: PoolPlan;
  readonly pool: EnginePool;
  readonly engines: readonly FakeEngine[];
};

async function stage(play: FakeEngine["play"], changes: Partial<PoolPlan> = {}): Promise<Stage> {
  const engines = await Promise.all([1, 2, 3].map(() => playEngine(play)));
  const plan = planOf(engines, changes);
  const pool = createEnginePool(plan);
  await untilWell(pool, engines.length);
  return {
    plan,
    pool,
    engines,
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      await Promise.all(engines.map((engine) => engine.stop()));
    },
  };
}

function ask({ pool }: Stage): Promise<EngineEvent[]> {
  return Array.fromAsync(pool.generate(request(), never));
}

const within = (error: unknown): FakeEngine["play"] => {
  return (response) => response.end(`data: ${JSON.stringify({ error })}\n\ndata: [DONE]\n\n`);
};
const raised = "Error: Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...";
const longer = "The input (200 tokens) is longer than the model's context length (100 tokens).";

test.each<[string, FakeEngine["play"], unknown]>([
  [
    "a long prompt refused within a stream",
    within({ code: 400, message: longer }),
    { kind: "prompt-too-long", promptTokens: 200, contextTokens: 100 },
  ],
  [
    "a wish that no engine takes, refused within a stream",
    within({ type: "invalid_request_error", message: "no" }),
    { kind: "not-supported", feature: "a request of this kind" },
  ],
  [
    "a conversation that the template refuses with 500",
    (response) => response.writeHead(500).end(JSON.stringify({ error: { code: 500, message: raised } })),
    { kind: "template-failed", reason: "the roles of its messages must alternate" },
  ],
])("%s is the caller's: nobody else is asked, and no engine is blamed", async (_what, play, failure) => {
  await using all = await stage(play);
  for (let time = 0; time < 9; time += 1) await expect(ask(all)).rejects.toMatchObject({ failure });
  expect(all.engines.flatMap(({ asked }) => asked)).toHaveLength(9);
  expect(all.pool.snapshot().map(({ state, failures }) => [state, failures])).toEqual([
    ["healthy", 0],
    ["healthy", 0],
    ["healthy", 0],
  ]);
});

test.each<[string, FakeEngine["play"]]>([
  ["a failure within a stream", within({ code: 500, message: "out of memory" })],
  ["an error that says nothing", within("broken")],
  ["a failure with 500", (response) => response.writeHead(500).end('{"error":{"message":"broken"}}')],
])("%s is the engine's: all are asked, and all are blamed", async (_what, play) => {
  await using all = await stage(play);
  await expect(ask(all)).rejects.toMatchObject({ failure: { kind: "engines-unavailable" } });
  expect(all.engines.map(({ asked }) => asked.length)).toEqual([1, 1, 1]);
  expect(all.pool.snapshot().map(({ failures }) => failures)).toEqual([1, 1, 1]);
});

test("an engine that asks to speak something else gives its place back and is not waited for", async () => {
  const switching = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n";
  await using all = await stage((response) => void response.socket?.write(switching));
  await expect(ask(all)).rejects.toMatchObject({ failure: { kind: "engines-unavailable" } });
  expect(all.pool.snapshot().map(({ outstanding }) => outstanding)).toEqual([0, 0, 0]);
});

test("a member that ends its answer but not its body is free at once", async () => {
  await using all = await stage(
    (response) => void response.write(`${chunk({ content: "all" }, "stop")}data: [DONE]\n\n`),
  );
  expect((await ask(all)).at(-1)).toMatchObject({ type: "generation-end", reason: "stop" });
  expect(all.pool.snapshot().map(({ outstanding }) => outstanding)).toEqual([0, 0, 0]);
});

async function load({ plan, pool }: Pick<Stage, "plan" | "pool">) {
  const driver = createPoolDriver(new Map([["m", { plan, pool }]]));
  const wish = { modelPath: "", remote: "m", contextTokens: 1, sequences: 1, purpose: "generate" } as const;
  return driver.load(wish, { signal: never, onProgress: () => undefined });
}

test("a context that nobody tells is known to be a guess; one that is told is none", async () => {
  await using all = await stage(say("Hello"));
  await using told = await load(all);
  expect(told.describe()).toMatchObject({ contextTokens: 100, isContextEstimated: false });
  // Its list says what it serves, and nothing more.
  const server = createServer((_request, response) => response.end('{"data":[{"id":"m"}]}'));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has such an address.
  const { port } = server.address() as AddressInfo;
  const addresses = [new URL(`http://127.0.0.1:${port}`)];
  const plan = { ...all.plan, engines: { type: "addresses", addresses } } as const;
  await using pool = createEnginePool(plan);
  await using guessed = await load({ plan, pool });
  expect(guessed.describe().isContextEstimated).toBe(true);
  server.closeAllConnections();
  server.close();
});

test("who leaves while messages are counted is not waited for", async () => {
  await using all = await stage(() => undefined);
  await using engine = await load(all);
  const hangUp = new AbortController();
  const counting = engine.count({ messages: [{ role: "user", content: "Hi" }] }, hangUp.signal);
  while (all.engines.every(({ asked }) => asked.length === 0)) await sleep(5);
  hangUp.abort(new Error("gone"));
  await expect(counting).rejects.toThrow("gone");
});
