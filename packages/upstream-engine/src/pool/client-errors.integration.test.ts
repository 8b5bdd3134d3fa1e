import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { EngineEvent } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import type { EnginePool } from "./engine-pool.ts";
import { createEnginePool, createPoolDriver, type PoolPlan } from "./pool-driver.ts";
import { chunk, type FakeEngine, respondWith, startFakeEngine } from "./test/fake-engine.ts";
import { never, planOf, request, untilHealthy } from "./test/pool-fixture.ts";

type Fixture = AsyncDisposable & {
  readonly plan: PoolPlan;
  readonly pool: EnginePool;
  readonly engines: readonly FakeEngine[];
};

async function createFixture(
  respond: FakeEngine["respond"],
  changes: Partial<PoolPlan> = {},
): Promise<Fixture> {
  const engines = await Promise.all([1, 2, 3].map(() => startFakeEngine(respond)));
  const plan = planOf(engines, changes);
  const pool = createEnginePool(plan);
  await untilHealthy(pool, engines.length);
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

function generate({ pool }: Fixture): Promise<EngineEvent[]> {
  return Array.fromAsync(pool.generate(request(), never));
}

const errorEvent = (error: unknown): FakeEngine["respond"] => {
  return (response) => response.end(`data: ${JSON.stringify({ error })}\n\ndata: [DONE]\n\n`);
};
const templateError =
  "Error: Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...";
const tooLong = "The input (200 tokens) is longer than the model's context length (100 tokens).";

test.each<[string, FakeEngine["respond"], unknown]>([
  [
    "a prompt that is too long, rejected in a stream",
    errorEvent({ code: 400, message: tooLong }),
    { kind: "prompt-too-long", promptTokens: 200, contextTokens: 100 },
  ],
  [
    "an unsupported request, rejected in a stream",
    errorEvent({ type: "invalid_request_error", message: "no" }),
    { kind: "not-supported", feature: "this type of request" },
  ],
  [
    "a conversation that the template rejects with status 500",
    (response) =>
      response.writeHead(500).end(JSON.stringify({ error: { code: 500, message: templateError } })),
    { kind: "template-failed", reason: "the message roles must alternate" },
  ],
])(
  "%s is a client error: no other engine is tried, and none counts as failed",
  async (_what, respond, failure) => {
    await using fixture = await createFixture(respond);
    for (let time = 0; time < 9; time += 1)
      await expect(generate(fixture)).rejects.toMatchObject({ failure });
    expect(fixture.engines.flatMap(({ requests }) => requests)).toHaveLength(9);
    expect(fixture.pool.snapshot().map(({ state, failures }) => [state, failures])).toEqual([
      ["healthy", 0],
      ["healthy", 0],
      ["healthy", 0],
    ]);
  },
);

test.each<[string, FakeEngine["respond"]]>([
  ["an error in a stream", errorEvent({ code: 500, message: "out of memory" })],
  ["an error without details", errorEvent("broken")],
  ["an error with status 500", (response) => response.writeHead(500).end('{"error":{"message":"broken"}}')],
])("%s is an engine failure: all engines are tried, and all count as failed", async (_what, respond) => {
  await using fixture = await createFixture(respond);
  await expect(generate(fixture)).rejects.toMatchObject({ failure: { kind: "engines-unavailable" } });
  expect(fixture.engines.map(({ requests }) => requests.length)).toEqual([1, 1, 1]);
  expect(fixture.pool.snapshot().map(({ failures }) => failures)).toEqual([1, 1, 1]);
});

test("an engine that switches protocols frees its slot and counts as failed", async () => {
  const switching = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n";
  await using fixture = await createFixture((response) => void response.socket?.write(switching));
  await expect(generate(fixture)).rejects.toMatchObject({ failure: { kind: "engines-unavailable" } });
  expect(fixture.pool.snapshot().map(({ outstanding }) => outstanding)).toEqual([0, 0, 0]);
});

test("a member that ends its output but not the response body is free immediately", async () => {
  await using fixture = await createFixture(
    (response) => void response.write(`${chunk({ content: "all" }, "stop")}data: [DONE]\n\n`),
  );
  expect((await generate(fixture)).at(-1)).toMatchObject({ type: "generation-end", reason: "stop" });
  expect(fixture.pool.snapshot().map(({ outstanding }) => outstanding)).toEqual([0, 0, 0]);
});

async function load({ plan, pool }: Pick<Fixture, "plan" | "pool">) {
  const driver = createPoolDriver(new Map([["m", { plan, pool }]]));
  const loadPlan = {
    modelPath: "",
    remote: "m",
    contextTokens: 1,
    sequences: 1,
    purpose: "generate",
  } as const;
  return driver.load(loadPlan, { signal: never, onProgress: () => undefined });
}

test("an unknown context size is marked as estimated, a reported one is not", async () => {
  await using fixture = await createFixture(respondWith("Hello"));
  await using reported = await load(fixture);
  expect(reported.describe()).toMatchObject({ contextTokens: 100, isContextEstimated: false });
  // Its list contains only the model name.
  const server = createServer((_request, response) => response.end('{"data":[{"id":"m"}]}'));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has an AddressInfo.
  const { port } = server.address() as AddressInfo;
  const addresses = [new URL(`http://127.0.0.1:${port}`)];
  const plan = { ...fixture.plan, engines: { type: "addresses", addresses } } as const;
  await using pool = createEnginePool(plan);
  await using estimated = await load({ plan, pool });
  expect(estimated.describe().isContextEstimated).toBe(true);
  server.closeAllConnections();
  server.close();
});

test("counting tokens stops when the client disconnects", async () => {
  await using fixture = await createFixture(() => undefined);
  await using engine = await load(fixture);
  const controller = new AbortController();
  const counting = engine.count({ messages: [{ role: "user", content: "Hi" }] }, controller.signal);
  while (fixture.engines.every(({ requests }) => requests.length === 0)) await sleep(5);
  controller.abort(new Error("disconnected"));
  await expect(counting).rejects.toThrow("disconnected");
});
