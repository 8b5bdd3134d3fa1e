import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { chunk, type FakeEngine, rejectWith, respondWith, startFakeEngine } from "./test/fake-engine.ts";
import { mutableList, never, poolOf, readText, request } from "./test/pool-fixture.ts";

/** Sends a first chunk, and the rest when `finish` is called. */
function respondInHalves(): FakeEngine["respond"] & { finish(): void } {
  const held: (() => void)[] = [];
  const respond: FakeEngine["respond"] = (response, incoming) => {
    response.write(chunk({ content: "half" }));
    held.push(() => respondWith(" full")(response, incoming));
  };
  return Object.assign(respond, { finish: () => held.splice(0).forEach((respondNow) => respondNow()) });
}

test("a draining engine that becomes silent fails its requests", async () => {
  await using engine = await startFakeEngine(respondInHalves());
  const discovery = mutableList([engine.url]);
  await using pool = await poolOf([engine], 4, { discovery, timeouts: { unhealthy: 0.5 } });
  const events = pool.generate(request(), never);
  await events.next();
  discovery.replace([]);
  await expect.poll(() => pool.snapshot()).toMatchObject([{ state: "draining", outstanding: 1 }]);
  engine.isSilent = true;
  await expect(readText(events)).rejects.toMatchObject({ failure: { kind: "engine-crashed" } });
  expect(pool.snapshot()).toEqual([]);
});

test("an engine that is no longer listed finishes its requests, gets no new ones, and is removed", async () => {
  const half = respondInHalves();
  await using engine = await startFakeEngine(half);
  const discovery = mutableList([engine.url]);
  await using pool = await poolOf([engine], 4, { discovery, timeouts: { anyEngine: 0.3 } });
  const events = pool.generate(request(), never);
  await events.next();
  discovery.replace([]);
  await expect.poll(() => pool.snapshot()).toMatchObject([{ state: "draining" }]);
  await expect(readText(pool.generate(request("b"), never))).rejects.toMatchObject({
    failure: { kind: "engines-unavailable" },
  });
  half.finish();
  expect(await readText(events)).toBe(" full");
  expect([engine.requests.length, pool.snapshot()]).toEqual([1, []]);
});

test("an address that returns while its engine drains is the same engine with the same limit", async () => {
  const half = respondInHalves();
  await using engine = await startFakeEngine(half);
  const discovery = mutableList([engine.url]);
  await using pool = await poolOf([engine], 1, { discovery });
  const events = pool.generate(request(), never);
  await events.next();
  discovery.replace([]);
  await expect.poll(() => pool.snapshot()).toMatchObject([{ state: "draining" }]);
  discovery.replace([engine.url]);
  await expect.poll(() => pool.snapshot()).toMatchObject([{ state: "healthy", outstanding: 1 }]);
  const next = readText(pool.generate(request("b"), never));
  await sleep(100);
  expect([engine.requests.length, pool.waiting]).toEqual([1, 1]);
  half.finish();
  expect(await readText(events)).toBe(" full");
  while (engine.requests.length < 2) await sleep(5);
  half.finish();
  expect(await next).toBe("half full");
});

test("a silent stream fails although its engine passes health checks", async () => {
  await using engine = await startFakeEngine(respondInHalves());
  await using pool = await poolOf([engine], 4, { timeouts: { nextEvent: 0.5 } });
  await expect(readText(pool.generate(request(), never))).rejects.toMatchObject({
    failure: { kind: "engine-crashed" },
  });
  expect(pool.snapshot()).toMatchObject([{ failures: 1, outstanding: 0 }]);
});

test("a request whose prompt takes too long is retried", async () => {
  await using engine: FakeEngine = await startFakeEngine(() => {
    engine.respond = respondWith("done");
  });
  await using pool = await poolOf([engine], 4, { timeouts: { firstEvent: 0.5 } });
  expect(await readText(pool.generate(request(), never))).toBe("done");
  expect(pool.snapshot()).toMatchObject([{ failures: 1, retries: 1 }]);
});

test("a stream that pauses briefly and a slow reader do not time out", async () => {
  const half = respondInHalves();
  await using engine = await startFakeEngine(half);
  await using pool = await poolOf([engine], 4, { timeouts: { firstEvent: 0.2, nextEvent: 0.5 } });
  const events = pool.generate(request(), never);
  await events.next();
  // No one waits for its next event in the meantime.
  await sleep(800);
  const rest = readText(events);
  await sleep(250);
  half.finish();
  expect(await rest).toBe(" full");
});

/** Accepts only the model name it serves, as vLLM does. */
function acceptServedName(engine: () => FakeEngine): FakeEngine["respond"] {
  return (response, incoming) => {
    let body = "";
    incoming.on("data", (bodyChunk) => {
      body += String(bodyChunk);
    });
    incoming.on("end", () => {
      const isServed = engine().served.some((name) => body.includes(`"model":"${name}"`));
      const respond = isServed ? respondWith(engine().served.join("")) : rejectWith(404);
      respond(response, incoming);
    });
  };
}

test("an engine that serves another model name after a restart is requested by that name", async () => {
  await using engine: FakeEngine = await startFakeEngine(acceptServedName(() => engine));
  await using pool = await poolOf([engine]);
  expect(await readText(pool.generate(request(), never))).toBe("m");
  engine.served = ["n"];
  expect(await readText(pool.generate(request(), never))).toBe("n");
});

test("the facts of an engine that was unavailable are fetched again", { timeout: 20_000 }, async () => {
  await using engine: FakeEngine = await startFakeEngine(acceptServedName(() => engine));
  await using second = await startFakeEngine();
  await using pool = await poolOf([engine, second]);
  engine.isHealthy = false;
  engine.served = ["other"];
  await expect.poll(() => pool.snapshot()[0]?.state, { timeout: 8000 }).toBe("open");
  engine.isHealthy = true;
  await expect.poll(() => pool.facts()?.model, { timeout: 8000 }).toBe("other");
});

test("a recovered engine gets a trial request although it is still streaming older ones", {
  timeout: 20_000,
}, async () => {
  const half = respondInHalves();
  await using engine = await startFakeEngine(half);
  await using second = await startFakeEngine();
  await using pool = await poolOf([engine, second]);
  const events = [pool.generate(request("a"), never), pool.generate(request("b"), never)];
  await Promise.all(events.map((each) => each.next()));
  const stateOf = () => pool.snapshot().find(({ label }) => label === engine.url.host)?.state;
  engine.isHealthy = false;
  await expect.poll(stateOf, { timeout: 8000 }).toBe("open");
  engine.isHealthy = true;
  await expect.poll(stateOf, { timeout: 8000 }).toBe("trial");
  engine.respond = respondWith("trial");
  expect([await readText(pool.generate(request("c"), never)), stateOf()]).toEqual(["trial", "healthy"]);
  half.finish();
  expect((await Promise.all(events.map(readText))).toSorted()).toEqual(["", " full"]);
});

test("an engine that lists no model is not usable yet", async () => {
  await using engine: FakeEngine = await startFakeEngine(acceptServedName(() => engine));
  engine.served = [];
  // Does not wait until the engine is healthy.
  await using pool = await poolOf([], 4, { discovery: mutableList([engine.url]) });
  await sleep(300);
  expect(pool.snapshot()).toMatchObject([{ state: "unknown" }]);
  engine.served = ["late"];
  expect(await readText(pool.generate(request(), never))).toBe("late");
});

test("two engines on one host are separate members with their own labels", async () => {
  const held: (() => void)[] = [];
  await using engine = await startFakeEngine((response, incoming) => {
    held.push(() => respondWith("done")(response, incoming));
  });
  const paths = ["/one", "/two"].map((path) => ({ url: new URL(path, engine.url) }));
  await using pool = await poolOf(paths, 1);
  const outputs = ["a", "b"].map((text) => readText(pool.generate(request(text), never)));
  while (held.length < 2) await sleep(5);
  held.forEach((respond) => respond());
  expect(await Promise.all(outputs)).toEqual(["done", "done"]);
  expect(engine.requests.toSorted()).toEqual(["/one/v1/chat/completions", "/two/v1/chat/completions"]);
  expect(pool.snapshot().map(({ label, requests }) => [label, requests])).toEqual([
    [`${engine.url.host}/one`, 1],
    [`${engine.url.host}/two`, 1],
  ]);
});
