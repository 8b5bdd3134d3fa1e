import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { PoolMember } from "./pool-member.ts";
import { type FakeEngine, playEngine, refuse, say } from "./test/fake-engine.ts";
import { unaskedEngine } from "./test/idle-engine.ts";
import { answerOf, never, poolOf, request } from "./test/pool-fixture.ts";

const soon = { anyEngine: 1 };

/** Refuses so often, and then answers. */
function refuseFirst(times: number, refusal: FakeEngine["play"]): FakeEngine["play"] {
  let left = times;
  return (response, question) => {
    left -= 1;
    (left >= 0 ? refusal : say("at last"))(response, question);
  };
}

test.each([503, 429])(
  "three engines that answer %i fail nobody while a fourth is idle, and are asked less and less",
  async (status) => {
    await using stack = new AsyncDisposableStack();
    const busy: FakeEngine[] = [];
    for (const play of [refuse(status), refuse(status), refuse(status)])
      busy.push(stack.use(await playEngine(play)));
    const sound = stack.use(await playEngine(say("sound")));
    const pool = stack.use(await poolOf([...busy, sound]));
    const answers: string[] = [];
    for (let index = 0; index < 20; index += 1)
      answers.push(await answerOf(pool.generate(request(`${index}`), never)));
    expect(answers).toEqual(Array.from({ length: 20 }, () => "sound"));
    for (const { asked } of busy) expect(asked.length).toBeLessThanOrEqual(2);
  },
);

/** Two engines, of which the first has failed so often that it is left alone. */
async function openFirst() {
  const stack = new AsyncDisposableStack();
  const failing = stack.use(await playEngine(refuse(500)));
  const sound = stack.use(await playEngine(say("sound")));
  const pool = stack.use(await poolOf([failing, sound]));
  const ask = (text: string) => answerOf(pool.generate(request(text), never));
  const stateOf = () => pool.snapshot().find(({ label }) => label === failing.url.host)?.state;
  for (let index = 0; stateOf() !== "open"; index += 1)
    await Promise.all([1, 2, 3, 4].map((each) => ask(`${index} ${each}`)));
  return { failing, ask, stateOf, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test("an engine that is busy on its trial has not passed it", { timeout: 20_000 }, async () => {
  await using stage = await openFirst();
  const { failing, ask, stateOf } = stage;
  failing.play = refuse(503);
  while (stateOf() !== "trial") await sleep(20);
  const before = failing.asked.length;
  expect([await ask("a"), await ask("b"), await ask("c")]).toEqual(["sound", "sound", "sound"]);
  expect([stateOf(), failing.asked.length - before]).toEqual(["open", 1]);
});

test("an engine that is too slow on its trial has not passed it", { timeout: 20_000 }, async () => {
  await using stage = await openFirst();
  const { failing, ask, stateOf } = stage;
  failing.play = () => undefined;
  while (stateOf() !== "trial") await sleep(20);
  const before = failing.asked.length;
  expect([await ask("a"), await ask("b")]).toEqual(["sound", "sound"]);
  expect([stateOf(), failing.asked.length - before]).toEqual(["open", 1]);
});

test("the only engine is asked again behind pauses that grow, and answers in the end", async () => {
  await using engine = await playEngine(refuseFirst(3, refuse(503)));
  await using pool = await poolOf([engine]);
  const startedAt = performance.now();
  expect(await answerOf(pool.generate(request(), never))).toBe("at last");
  expect(engine.asked).toHaveLength(4);
  // A quarter of a second, a half, and a whole one.
  expect(performance.now() - startedAt).toBeGreaterThan(1600);
});

test("an engine is left alone for as long as it asks for", async () => {
  await using engine = await playEngine(refuseFirst(1, refuse(429, { "retry-after": "1" })));
  await using pool = await poolOf([engine]);
  const startedAt = performance.now();
  expect(await answerOf(pool.generate(request(), never))).toBe("at last");
  expect(performance.now() - startedAt).toBeGreaterThan(950);
});

test("nobody waits an hour because an engine asks for it", () => {
  const member = new PoolMember({ label: "a", engine: unaskedEngine, close: () => undefined });
  member.isBusy(3600);
  expect(member.restsUntil - performance.now()).toBeLessThanOrEqual(10_000);
  expect(member.restsUntil - performance.now()).toBeGreaterThan(9000);
});

test("when no engine takes a request for long, it fails, and those in line behind it too", async () => {
  await using engine = await playEngine(refuse(503));
  await using pool = await poolOf([engine], 4, { patience: soon });
  const startedAt = performance.now();
  const outcomes = await Promise.allSettled(
    Array.from({ length: 6 }, (_, index) => answerOf(pool.generate(request(`${index}`), never))),
  );
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ reason: { failure: { kind: "engines-unavailable" } } });
  const seconds = (performance.now() - startedAt) / 1000;
  expect([seconds > 0.9, seconds < 2.5]).toEqual([true, true]);
  // Four at first, and one behind each pause.
  expect(engine.asked.length).toBeLessThanOrEqual(7);
});

test("who waits for a place fails when the engine it waits for dies, however long it has waited", async () => {
  await using engine = await playEngine(() => undefined);
  await using pool = await poolOf([engine], 1, { patience: { anyEngine: 0.5 } });
  const running = answerOf(pool.generate(request("a"), never)).catch(() => "died");
  while (engine.asked.length === 0) await sleep(5);
  let outcome = "waits";
  const waiting = answerOf(pool.generate(request("b"), never))
    .catch(() => "failed")
    .then((text) => (outcome = text));
  await sleep(800);
  expect(outcome).toBe("waits");
  const diedAt = performance.now();
  await engine.stop();
  await Promise.all([running, waiting]);
  expect(outcome).toBe("failed");
  expect(performance.now() - diedAt).toBeLessThan(3000);
});
