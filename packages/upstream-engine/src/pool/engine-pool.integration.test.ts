import { setTimeout as sleep } from "node:timers/promises";
import type { Message } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import { chunk, type FakeEngine, playEngine, refuse, say } from "./test/fake-engine.ts";
import { answerOf, never, poolOf, request } from "./test/pool-fixture.ts";

/** First the one that fails, so that a choice of the other would show nothing. */
const failFirst = async (play: FakeEngine["play"]) => {
  const failing = await playEngine(play);
  const sound = await playEngine(say("sound"));
  const pool = await poolOf([failing, sound]);
  return {
    failing,
    sound,
    pool,
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      await failing.stop();
      await sound.stop();
    },
  };
};

test.each([
  ["breaks", refuse(500)],
  ["is busy", refuse(503)],
  ["has too many requests", refuse(429)],
  ["does not take our key", refuse(401)],
  ["hangs up", (response) => response.destroy()],
  [
    "hangs up behind its head",
    (response) => void response.writeHead(200).write(": wait\n\n", () => response.destroy()),
  ],
] satisfies [string, FakeEngine["play"]][])(
  "a request goes to another engine when one %s before it said anything",
  async (_how, play) => {
    await using stage = await failFirst(play);
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, index) => answerOf(stage.pool.generate(request(`${index}`), never))),
    );
    expect(answers).toEqual(["sound", "sound", "sound", "sound"]);
    expect(stage.failing.asked.length).toBeGreaterThan(0);
  },
);

test("an answer that has begun is not asked for again: it fails", async () => {
  await using stage = await failFirst((response) => {
    response.write(chunk({ content: "half" }), () => setTimeout(() => response.destroy(), 20));
  });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 2 }, (_, index) => answerOf(stage.pool.generate(request(`${index}`), never))),
  );
  expect(outcomes.toSorted((one) => (one.status === "fulfilled" ? -1 : 1))).toMatchObject([
    { status: "fulfilled", value: "sound" },
    { status: "rejected", reason: { failure: { kind: "engine-crashed" } } },
  ]);
});

test("a prompt that is too long is the caller's, and nobody else is asked", async () => {
  await using stage = await failFirst((response) =>
    response
      .writeHead(400)
      .end(
        '{"error":{"message":"This model\'s maximum context length is 100 tokens but it has 200 input tokens"}}',
      ),
  );
  stage.sound.play = stage.failing.play;
  await expect(answerOf(stage.pool.generate(request(), never))).rejects.toMatchObject({
    failure: { kind: "prompt-too-long", promptTokens: 200, contextTokens: 100 },
  });
  expect(stage.failing.asked.length + stage.sound.asked.length).toBe(1);
});

test("after three failures in a row an engine is left alone, and asked again when it is well", {
  timeout: 20_000,
}, async () => {
  await using stage = await failFirst(refuse(500));
  const { pool, failing } = stage;
  const askMany = (count: number) =>
    Promise.all(
      Array.from({ length: count }, () => answerOf(pool.generate(request(`${Math.random()}`), never))),
    );
  await askMany(24);
  const stateOf = () => pool.snapshot().find(({ label }) => label === failing.url.host)?.state;
  expect(stateOf()).toBe("open");
  const asked = failing.asked.length;
  await askMany(24);
  expect(failing.asked.length).toBe(asked);
  failing.play = say("back");
  while (stateOf() !== "trial") await sleep(20);
  expect(await answerOf(pool.generate(request(), never))).toBe("back");
  expect(stateOf()).toBe("healthy");
});

test("a request whose engine has fallen silent is answered elsewhere before that engine counts as broken", async () => {
  await using stage = await failFirst(say("sound"));
  const { pool, failing } = stage;
  const askFour = () =>
    Promise.all([1, 2, 3, 4].map(() => answerOf(pool.generate(request(`${Math.random()}`), never))));
  await askFour();
  failing.isSilent = true;
  expect(await askFour()).toEqual(["sound", "sound", "sound", "sound"]);
  const { state, retries } = pool.snapshot().find(({ label }) => label === failing.url.host) ?? {};
  expect(state).toBe("suspected");
  expect(retries).toBeGreaterThan(0);
});

const readFor =
  (milliseconds: number): FakeEngine["play"] =>
  (response) =>
    void setTimeout(
      () => response.end(`${chunk({ content: "read" }, "stop")}data: [DONE]\n\n`),
      milliseconds,
    );

test.each([
  ["a long prompt that takes its time", "long ".repeat(1000), 1500],
  ["a prompt that takes longer than others", "Hi", 700],
])("%s stays with its engine, which says that it is well", async (_what, prompt, milliseconds) => {
  await using stage = await failFirst(say("sound"));
  const { pool, failing, sound } = stage;
  await Promise.all([1, 2, 3, 4].map(() => answerOf(pool.generate(request(`${Math.random()}`), never))));
  failing.play = readFor(milliseconds);
  sound.play = readFor(milliseconds);
  expect(await answerOf(pool.generate(request(prompt), never))).toBe("read");
  expect(pool.snapshot().map(({ retries, state }) => [retries, state])).toEqual([
    [0, "healthy"],
    [0, "healthy"],
  ]);
});

test("no engine gets more than its limit; who comes later waits, and leaves when it hangs up", async () => {
  const held: (() => void)[] = [];
  await using engine = await playEngine((response) => {
    held.push(() => say("done")(response, response.req));
  });
  await using pool = await poolOf([engine], 2);
  const hangUp = new AbortController();
  const answers = [1, 2, 3].map((each) => answerOf(pool.generate(request(`${each}`), never)));
  const impatient = answerOf(pool.generate(request("4"), hangUp.signal));
  while (held.length < 2) await sleep(5);
  await sleep(50);
  expect([engine.asked.length, pool.waiting]).toEqual([2, 2]);
  hangUp.abort();
  await expect(impatient).rejects.toMatchObject({ name: "AbortError" });
  held.splice(0).forEach((end) => end());
  while (held.length < 1) await sleep(5);
  held.splice(0).forEach((end) => end());
  expect(await Promise.all(answers)).toEqual(["done", "done", "done"]);
});

test("the turns of a conversation go to the same engine", async () => {
  await using first = await playEngine();
  await using second = await playEngine();
  await using pool = await poolOf([first, second]);
  const messages: Message[] = [{ role: "user", content: "one" }];
  const { input: _input, ...rest } = request();
  for (let turn = 0; turn < 6; turn += 1) {
    const conversation = { messages: [...messages] };
    const text = await answerOf(
      pool.generate({ ...rest, input: { type: "conversation", conversation } }, never),
    );
    messages.push({ role: "assistant", content: text }, { role: "user", content: `${turn}` });
  }
  expect([first.asked.length, second.asked.length].toSorted((one, other) => one - other)).toEqual([0, 6]);
});
