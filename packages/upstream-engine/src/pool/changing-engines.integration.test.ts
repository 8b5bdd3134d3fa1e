import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { chunk, type FakeEngine, playEngine, refuse, say } from "./test/fake-engine.ts";
import { answerOf, changingList, never, poolOf, request } from "./test/pool-fixture.ts";

/** Says a beginning, and nothing more until it is told how to go on. */
function sayHalf(): FakeEngine["play"] & { goOn(): void } {
  const held: (() => void)[] = [];
  const play: FakeEngine["play"] = (response, question) => {
    response.write(chunk({ content: "half" }));
    held.push(() => say(" whole")(response, question));
  };
  return Object.assign(play, { goOn: () => held.splice(0).forEach((go) => go()) });
}

test("an engine that left the list and then falls silent does not keep its callers for ever", async () => {
  await using engine = await playEngine(sayHalf());
  const discovery = changingList([engine.url]);
  await using pool = await poolOf([engine], 4, { discovery, patience: { unwell: 0.5 } });
  const events = pool.generate(request(), never);
  await events.next();
  discovery.become([]);
  await expect.poll(() => pool.snapshot()).toMatchObject([{ state: "draining", outstanding: 1 }]);
  engine.isSilent = true;
  await expect(answerOf(events)).rejects.toMatchObject({ failure: { kind: "engine-crashed" } });
  expect(pool.snapshot()).toEqual([]);
});

test("an engine that left the list finishes what it has, gets nothing more, and is forgotten then", async () => {
  const half = sayHalf();
  await using engine = await playEngine(half);
  const discovery = changingList([engine.url]);
  await using pool = await poolOf([engine], 4, { discovery, patience: { anyEngine: 0.3 } });
  const events = pool.generate(request(), never);
  await events.next();
  discovery.become([]);
  await expect.poll(() => pool.snapshot()).toMatchObject([{ state: "draining" }]);
  await expect(answerOf(pool.generate(request("b"), never))).rejects.toMatchObject({
    failure: { kind: "engines-unavailable" },
  });
  half.goOn();
  expect(await answerOf(events)).toBe(" whole");
  expect([engine.asked.length, pool.snapshot()]).toEqual([1, []]);
});

test("an address that returns while its engine drains is the same engine, with the same limit", async () => {
  const half = sayHalf();
  await using engine = await playEngine(half);
  const discovery = changingList([engine.url]);
  await using pool = await poolOf([engine], 1, { discovery });
  const events = pool.generate(request(), never);
  await events.next();
  discovery.become([]);
  await expect.poll(() => pool.snapshot()).toMatchObject([{ state: "draining" }]);
  discovery.become([engine.url]);
  await expect.poll(() => pool.snapshot()).toMatchObject([{ state: "healthy", outstanding: 1 }]);
  const next = answerOf(pool.generate(request("b"), never));
  await sleep(100);
  expect([engine.asked.length, pool.waiting]).toEqual([1, 1]);
  half.goOn();
  expect(await answerOf(events)).toBe(" whole");
  while (engine.asked.length < 2) await sleep(5);
  half.goOn();
  expect(await next).toBe("half whole");
});

test("a stream that says nothing more ends, although its engine says that it is well", async () => {
  await using engine = await playEngine(sayHalf());
  await using pool = await poolOf([engine], 4, { patience: { writing: 0.5 } });
  await expect(answerOf(pool.generate(request(), never))).rejects.toMatchObject({
    failure: { kind: "engine-crashed" },
  });
  expect(pool.snapshot()).toMatchObject([{ failures: 1, outstanding: 0 }]);
});

test("a prompt that is read for too long is asked for again", async () => {
  await using engine: FakeEngine = await playEngine(() => {
    engine.play = say("sound");
  });
  await using pool = await poolOf([engine], 4, { patience: { reading: 0.5 } });
  expect(await answerOf(pool.generate(request(), never))).toBe("sound");
  expect(pool.snapshot()).toMatchObject([{ failures: 1, retries: 1 }]);
});

test("a stream that only pauses, and a reader that only is slow, are left alone", async () => {
  const half = sayHalf();
  await using engine = await playEngine(half);
  await using pool = await poolOf([engine], 4, { patience: { reading: 0.2, writing: 0.5 } });
  const events = pool.generate(request(), never);
  await events.next();
  // Nobody waits for its next event meanwhile.
  await sleep(800);
  const rest = answerOf(events);
  await sleep(250);
  half.goOn();
  expect(await rest).toBe(" whole");
});

/** Takes the name it serves, as vLLM does, and knows no other. */
function takeServedName(engine: () => FakeEngine): FakeEngine["play"] {
  return (response, question) => {
    let body = "";
    question.on("data", (piece) => {
      body += String(piece);
    });
    question.on("end", () => {
      const isKnown = engine().served.some((name) => body.includes(`"model":"${name}"`));
      const play = isKnown ? say(engine().served.join("")) : refuse(404);
      play(response, question);
    });
  };
}

test("an engine that serves another name after a restart is asked by that name", async () => {
  await using engine: FakeEngine = await playEngine(takeServedName(() => engine));
  await using pool = await poolOf([engine]);
  expect(await answerOf(pool.generate(request(), never))).toBe("m");
  engine.served = ["n"];
  expect(await answerOf(pool.generate(request(), never))).toBe("n");
});

test("an engine that was gone is asked again what it is", { timeout: 20_000 }, async () => {
  await using engine: FakeEngine = await playEngine(takeServedName(() => engine));
  await using second = await playEngine();
  await using pool = await poolOf([engine, second]);
  engine.isWell = false;
  engine.served = ["other"];
  await expect.poll(() => pool.snapshot()[0]?.state, { timeout: 8000 }).toBe("open");
  engine.isWell = true;
  await expect.poll(() => pool.facts()?.model, { timeout: 8000 }).toBe("other");
});

test("an engine that comes back is tried although it still writes what it began before", {
  timeout: 20_000,
}, async () => {
  const half = sayHalf();
  await using engine = await playEngine(half);
  await using second = await playEngine();
  await using pool = await poolOf([engine, second]);
  const events = [pool.generate(request("a"), never), pool.generate(request("b"), never)];
  await Promise.all(events.map((each) => each.next()));
  const stateOf = () => pool.snapshot().find(({ label }) => label === engine.url.host)?.state;
  engine.isWell = false;
  await expect.poll(stateOf, { timeout: 8000 }).toBe("open");
  engine.isWell = true;
  await expect.poll(stateOf, { timeout: 8000 }).toBe("trial");
  engine.play = say("tried");
  expect([await answerOf(pool.generate(request("c"), never)), stateOf()]).toEqual(["tried", "healthy"]);
  half.goOn();
  expect((await Promise.all(events.map(answerOf))).toSorted()).toEqual(["", " whole"]);
});

test("an engine that lists no model yet is none to ask", async () => {
  await using engine: FakeEngine = await playEngine(takeServedName(() => engine));
  engine.served = [];
  // Nobody waits here until it is well.
  await using pool = await poolOf([], 4, { discovery: changingList([engine.url]) });
  await sleep(300);
  expect(pool.snapshot()).toMatchObject([{ state: "unknown" }]);
  engine.served = ["late"];
  expect(await answerOf(pool.generate(request(), never))).toBe("late");
});

test("two engines behind one host are two engines, each with its own name in figures", async () => {
  const held: (() => void)[] = [];
  await using engine = await playEngine((response, question) => {
    held.push(() => say("done")(response, question));
  });
  const paths = ["/one", "/two"].map((path) => ({ url: new URL(path, engine.url) }));
  await using pool = await poolOf(paths, 1);
  const answers = ["a", "b"].map((text) => answerOf(pool.generate(request(text), never)));
  while (held.length < 2) await sleep(5);
  held.forEach((end) => end());
  expect(await Promise.all(answers)).toEqual(["done", "done"]);
  expect(engine.asked.toSorted()).toEqual(["/one/v1/chat/completions", "/two/v1/chat/completions"]);
  expect(pool.snapshot().map(({ label, requests }) => [label, requests])).toEqual([
    [`${engine.url.host}/one`, 1],
    [`${engine.url.host}/two`, 1],
  ]);
});
