import { setTimeout as sleep } from "node:timers/promises";
import type { Message } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import { chunk, type FakeEngine, rejectWith, respondWith, startFakeEngine } from "./test/fake-engine.ts";
import { never, poolOf, readText, request } from "./test/pool-fixture.ts";

/** The failing engine comes first, so that it is actually used. */
const poolWithFailingEngine = async (respond: FakeEngine["respond"]) => {
  const failing = await startFakeEngine(respond);
  const healthy = await startFakeEngine(respondWith("healthy"));
  const pool = await poolOf([failing, healthy]);
  return {
    failing,
    healthy,
    pool,
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      await failing.stop();
      await healthy.stop();
    },
  };
};

test.each([
  ["fails", rejectWith(500)],
  ["is busy", rejectWith(503)],
  ["has too many requests", rejectWith(429)],
  ["rejects our key", rejectWith(401)],
  ["disconnects", (response) => response.destroy()],
  [
    "disconnects after its headers",
    (response) => void response.writeHead(200).write(": wait\n\n", () => response.destroy()),
  ],
] satisfies [string, FakeEngine["respond"]][])(
  "a request moves to another engine if one %s before any output",
  async (_how, respond) => {
    await using fixture = await poolWithFailingEngine(respond);
    const outputs = await Promise.all(
      Array.from({ length: 4 }, (_, index) => readText(fixture.pool.generate(request(`${index}`), never))),
    );
    expect(outputs).toEqual(["healthy", "healthy", "healthy", "healthy"]);
    expect(fixture.failing.requests.length).toBeGreaterThan(0);
  },
);

test("a request whose output has started is not retried but fails", async () => {
  await using fixture = await poolWithFailingEngine((response) => {
    response.write(chunk({ content: "half" }), () => setTimeout(() => response.destroy(), 20));
  });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 2 }, (_, index) => readText(fixture.pool.generate(request(`${index}`), never))),
  );
  expect(outcomes.toSorted((one) => (one.status === "fulfilled" ? -1 : 1))).toMatchObject([
    { status: "fulfilled", value: "healthy" },
    { status: "rejected", reason: { failure: { kind: "engine-crashed" } } },
  ]);
});

test("a prompt that is too long is a client error, and no other engine is tried", async () => {
  await using fixture = await poolWithFailingEngine((response) =>
    response
      .writeHead(400)
      .end(
        '{"error":{"message":"This model\'s maximum context length is 100 tokens but it has 200 input tokens"}}',
      ),
  );
  fixture.healthy.respond = fixture.failing.respond;
  await expect(readText(fixture.pool.generate(request(), never))).rejects.toMatchObject({
    failure: { kind: "prompt-too-long", promptTokens: 200, contextTokens: 100 },
  });
  expect(fixture.failing.requests.length + fixture.healthy.requests.length).toBe(1);
});

test("after three failures in a row an engine gets no requests until it is healthy again", {
  timeout: 20_000,
}, async () => {
  await using fixture = await poolWithFailingEngine(rejectWith(500));
  const { pool, failing } = fixture;
  const generateMany = (count: number) =>
    Promise.all(
      Array.from({ length: count }, () => readText(pool.generate(request(`${Math.random()}`), never))),
    );
  await generateMany(24);
  const stateOf = () => pool.snapshot().find(({ label }) => label === failing.url.host)?.state;
  expect(stateOf()).toBe("open");
  const before = failing.requests.length;
  await generateMany(24);
  expect(failing.requests.length).toBe(before);
  failing.respond = respondWith("back");
  while (stateOf() !== "trial") await sleep(20);
  expect(await readText(pool.generate(request(), never))).toBe("back");
  expect(stateOf()).toBe("healthy");
});

test("a request on an unresponsive engine moves to another one before the engine counts as failed", async () => {
  await using fixture = await poolWithFailingEngine(respondWith("healthy"));
  const { pool, failing } = fixture;
  const generateFour = () =>
    Promise.all([1, 2, 3, 4].map(() => readText(pool.generate(request(`${Math.random()}`), never))));
  await generateFour();
  failing.isSilent = true;
  expect(await generateFour()).toEqual(["healthy", "healthy", "healthy", "healthy"]);
  const { state, retries } = pool.snapshot().find(({ label }) => label === failing.url.host) ?? {};
  expect(state).toBe("suspected");
  expect(retries).toBeGreaterThan(0);
});

const respondAfter =
  (milliseconds: number): FakeEngine["respond"] =>
  (response) =>
    void setTimeout(
      () => response.end(`${chunk({ content: "done" }, "stop")}data: [DONE]\n\n`),
      milliseconds,
    );

test.each([
  ["a long prompt that takes long", "long ".repeat(1000), 1500],
  ["a short prompt that takes longer than others", "Hi", 700],
])("%s stays on its engine while the engine is healthy", async (_what, prompt, milliseconds) => {
  await using fixture = await poolWithFailingEngine(respondWith("healthy"));
  const { pool, failing, healthy } = fixture;
  await Promise.all([1, 2, 3, 4].map(() => readText(pool.generate(request(`${Math.random()}`), never))));
  failing.respond = respondAfter(milliseconds);
  healthy.respond = respondAfter(milliseconds);
  expect(await readText(pool.generate(request(prompt), never))).toBe("done");
  expect(pool.snapshot().map(({ retries, state }) => [retries, state])).toEqual([
    [0, "healthy"],
    [0, "healthy"],
  ]);
});

test("no engine gets more than its limit; later requests are queued until their client disconnects", async () => {
  const held: (() => void)[] = [];
  await using engine = await startFakeEngine((response) => {
    held.push(() => respondWith("done")(response, response.req));
  });
  await using pool = await poolOf([engine], 2);
  const controller = new AbortController();
  const outputs = [1, 2, 3].map((each) => readText(pool.generate(request(`${each}`), never)));
  const aborted = readText(pool.generate(request("4"), controller.signal));
  while (held.length < 2) await sleep(5);
  await sleep(50);
  expect([engine.requests.length, pool.waiting]).toEqual([2, 2]);
  controller.abort();
  await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
  held.splice(0).forEach((respond) => respond());
  while (held.length < 1) await sleep(5);
  held.splice(0).forEach((respond) => respond());
  expect(await Promise.all(outputs)).toEqual(["done", "done", "done"]);
});

test("all turns of a conversation go to the same engine", async () => {
  await using first = await startFakeEngine();
  await using second = await startFakeEngine();
  await using pool = await poolOf([first, second]);
  const messages: Message[] = [{ role: "user", content: "one" }];
  const { input: _input, ...rest } = request();
  for (let turn = 0; turn < 6; turn += 1) {
    const conversation = { messages: [...messages] };
    const text = await readText(
      pool.generate({ ...rest, input: { type: "conversation", conversation } }, never),
    );
    messages.push({ role: "assistant", content: text }, { role: "user", content: `${turn}` });
  }
  expect([first.requests.length, second.requests.length].toSorted((one, other) => one - other)).toEqual([
    0, 6,
  ]);
});
