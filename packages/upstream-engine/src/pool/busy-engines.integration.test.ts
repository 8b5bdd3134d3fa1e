import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { PoolMember } from "./pool-member.ts";
import { type FakeEngine, rejectWith, respondWith, startFakeEngine } from "./test/fake-engine.ts";
import { idleEngine } from "./test/idle-engine.ts";
import { never, poolOf, readText, request } from "./test/pool-fixture.ts";

const shortTimeout = { anyEngine: 1 };

/** Fails the given number of times, then responds. */
function failFirst(times: number, failure: FakeEngine["respond"]): FakeEngine["respond"] {
  let left = times;
  return (response, incoming) => {
    left -= 1;
    (left >= 0 ? failure : respondWith("finally"))(response, incoming);
  };
}

test.each([503, 429])(
  "three engines that respond with %i fail no request while a fourth is idle, and get fewer and fewer requests",
  async (status) => {
    await using stack = new AsyncDisposableStack();
    const busy: FakeEngine[] = [];
    for (const respond of [rejectWith(status), rejectWith(status), rejectWith(status)])
      busy.push(stack.use(await startFakeEngine(respond)));
    const healthy = stack.use(await startFakeEngine(respondWith("healthy")));
    const pool = stack.use(await poolOf([...busy, healthy]));
    const outputs: string[] = [];
    for (let index = 0; index < 20; index += 1)
      outputs.push(await readText(pool.generate(request(`${index}`), never)));
    expect(outputs).toEqual(Array.from({ length: 20 }, () => "healthy"));
    for (const { requests } of busy) expect(requests.length).toBeLessThanOrEqual(2);
  },
);

/** Two engines, of which the first has failed so often that its breaker is open. */
async function openFirst() {
  const stack = new AsyncDisposableStack();
  const failing = stack.use(await startFakeEngine(rejectWith(500)));
  const healthy = stack.use(await startFakeEngine(respondWith("healthy")));
  const pool = stack.use(await poolOf([failing, healthy]));
  const generate = (text: string) => readText(pool.generate(request(text), never));
  const stateOf = () => pool.snapshot().find(({ label }) => label === failing.url.host)?.state;
  for (let index = 0; stateOf() !== "open"; index += 1)
    await Promise.all([1, 2, 3, 4].map((each) => generate(`${index} ${each}`)));
  return { failing, generate, stateOf, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test("an engine that is busy during its trial does not pass it", { timeout: 20_000 }, async () => {
  await using fixture = await openFirst();
  const { failing, generate, stateOf } = fixture;
  failing.respond = rejectWith(503);
  while (stateOf() !== "trial") await sleep(20);
  const before = failing.requests.length;
  expect([await generate("a"), await generate("b"), await generate("c")]).toEqual([
    "healthy",
    "healthy",
    "healthy",
  ]);
  expect([stateOf(), failing.requests.length - before]).toEqual(["open", 1]);
});

test("an engine that is too slow during its trial does not pass it", { timeout: 20_000 }, async () => {
  await using fixture = await openFirst();
  const { failing, generate, stateOf } = fixture;
  failing.respond = () => undefined;
  while (stateOf() !== "trial") await sleep(20);
  const before = failing.requests.length;
  expect([await generate("a"), await generate("b")]).toEqual(["healthy", "healthy"]);
  expect([stateOf(), failing.requests.length - before]).toEqual(["open", 1]);
});

test("the only engine is retried with growing pauses until it responds", async () => {
  await using engine = await startFakeEngine(failFirst(3, rejectWith(503)));
  await using pool = await poolOf([engine]);
  const startedAt = performance.now();
  expect(await readText(pool.generate(request(), never))).toBe("finally");
  expect(engine.requests).toHaveLength(4);
  // Pauses of 0.25, 0.5 and 1 seconds.
  expect(performance.now() - startedAt).toBeGreaterThan(1600);
});

test("an engine's Retry-After is respected", async () => {
  await using engine = await startFakeEngine(failFirst(1, rejectWith(429, { "retry-after": "1" })));
  await using pool = await poolOf([engine]);
  const startedAt = performance.now();
  expect(await readText(pool.generate(request(), never))).toBe("finally");
  expect(performance.now() - startedAt).toBeGreaterThan(950);
});

test("a Retry-After of an hour is capped at ten seconds", () => {
  const member = new PoolMember({ label: "a", engine: idleEngine, close: () => undefined });
  member.recordBusy(3600);
  expect(member.backoffUntil - performance.now()).toBeLessThanOrEqual(10_000);
  expect(member.backoffUntil - performance.now()).toBeGreaterThan(9000);
});

test("if no engine accepts requests for a while, all queued requests fail", async () => {
  await using engine = await startFakeEngine(rejectWith(503));
  await using pool = await poolOf([engine], 4, { timeouts: shortTimeout });
  const startedAt = performance.now();
  const outcomes = await Promise.allSettled(
    Array.from({ length: 6 }, (_, index) => readText(pool.generate(request(`${index}`), never))),
  );
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ reason: { failure: { kind: "engines-unavailable" } } });
  const seconds = (performance.now() - startedAt) / 1000;
  expect([seconds > 0.9, seconds < 2.5]).toEqual([true, true]);
  // Four at first, then one after each pause.
  expect(engine.requests.length).toBeLessThanOrEqual(7);
});

test("a queued request fails when its engine dies, however long it has waited", async () => {
  await using engine = await startFakeEngine(() => undefined);
  await using pool = await poolOf([engine], 1, { timeouts: { anyEngine: 0.5 } });
  const running = readText(pool.generate(request("a"), never)).catch(() => "crashed");
  while (engine.requests.length === 0) await sleep(5);
  let outcome = "waiting";
  const waiting = readText(pool.generate(request("b"), never))
    .catch(() => "failed")
    .then((text) => (outcome = text));
  await sleep(800);
  expect(outcome).toBe("waiting");
  const crashedAt = performance.now();
  await engine.stop();
  await Promise.all([running, waiting]);
  expect(outcome).toBe("failed");
  expect(performance.now() - crashedAt).toBeLessThan(3000);
});
