import { connect } from "node:net";
import type { Script, ScriptStep } from "@hearth-and-keep/engine/testing";
import { isJudgedLoosely } from "@hearth-and-keep/figures";
import { Ollama } from "ollama";
import { describe, expect, test } from "vitest";
import { smol, startTestServer, tiny } from "../../test/start-test-server.ts";
import { ask, parseObject, saying } from "./test/ask.ts";

const prompt = "What is 2+2?";
const messages = [{ role: "user", content: prompt }];
const never: ScriptStep = { do: "wait", milliseconds: 60_000 };
const sayingHiForEver: Script = () => [{ do: "say", text: "Hi" }, never];
const waiting: Script = () => [
  { do: "wait", milliseconds: 500 },
  { do: "end", reason: "stop" },
];
const repeating: Script = () => [
  ...Array.from({ length: 200 }, () => ({ do: "say", text: " x" }) as const),
  { do: "end", reason: "length" },
];

describe("lines", () => {
  test("every object is a line of its own, none is empty, and the last one is done", async () => {
    await using server = await startTestServer({ models: { tiny }, script: saying("One\n\ntwo", " three") });
    for (const accept of [
      "application/json",
      "application/x-ndjson",
      "*/*",
      "text/event-stream, application/json",
    ]) {
      const reply = await ask(
        server,
        { path: "/api/chat", headers: { accept } },
        { model: "tiny", messages },
      );
      expect(reply.headers.get("content-type")).toBe("application/x-ndjson");
      expect(reply.text.endsWith("\n")).toBe(true);
      const objects = reply.text.slice(0, -1).split("\n").map(parseObject);
      expect(objects.map(({ done }) => done)).toEqual([false, false, true]);
    }
  });

  test("nothing between buffers them: no cache, no proxy, no compression", async () => {
    await using server = await startTestServer({ models: { tiny }, script: saying("4") });
    const headers = { "accept-encoding": "gzip, br, zstd" };
    const reply = await ask(server, { path: "/api/generate", headers }, { model: "tiny", prompt });
    expect(reply.headers.get("cache-control")).toBe("no-cache");
    expect(reply.headers.get("x-accel-buffering")).toBe("no");
    expect(reply.headers.has("content-encoding")).toBe(false);
  });

  test("the first words leave before the last are written", async () => {
    await using server = await startTestServer({ models: { tiny }, script: sayingHiForEver });
    const response = await fetch(`${server.url}/api/generate`, {
      method: "POST",
      body: JSON.stringify({ model: "tiny", prompt }),
    });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(new TextDecoder().decode(first?.value)).toContain('"response":"Hi"');
    await reader?.cancel();
    await expect.poll(() => server.scheduler.queueLengths()[0]?.leases).toBe(0);
  });
});

test("events are for those who accept nothing else: the same objects, and done at the end", async () => {
  await using server = await startTestServer({ models: { tiny }, script: saying("One", " two") });
  const headers = { accept: "text/event-stream" };
  for (const [path, said] of [
    ["/api/chat", { messages }],
    ["/api/generate", { prompt }],
  ] as const) {
    const reply = await ask(server, { path, headers }, { model: "tiny", ...said });
    expect(reply.headers.get("content-type")).toBe("text/event-stream");
    const events = reply.text.split("\n\n").filter((event) => event !== "");
    expect(events.every((event) => event.startsWith("data: "))).toBe(true);
    const objects = events.map((event) => parseObject(event.slice("data: ".length)));
    expect(objects.map(({ done }) => done)).toEqual([false, false, true]);
  }
  const whole = await ask(server, { path: "/api/chat", headers }, { model: "tiny", messages, stream: false });
  expect(whole.headers.get("content-type")).toBe("application/json; charset=utf-8");
});

const failure = { kind: "engine-died", exitCode: null, signal: "SIGKILL" } as const;
const dyingLate: Script = () => [{ do: "say", text: "Hi" }, { do: "die", failure }, never];
const dyingEarly: Script = () => [{ do: "die", failure }, never];

describe("an engine that dies", () => {
  const text = /model runner has unexpectedly stopped/u;

  test("in the middle of an answer makes the official client throw at once, and no done is sent", async () => {
    await using server = await startTestServer({ models: { tiny }, script: dyingLate });
    const client = new Ollama({ host: server.url });
    const stream = await client.chat({ model: "tiny", messages, stream: true });
    const seen: string[] = [];
    let firstAt = 0;
    const reading = (async () => {
      for await (const { message } of stream) {
        firstAt = performance.now();
        seen.push(message.content);
      }
    })();
    await expect(reading).rejects.toThrow(text);
    expect(performance.now() - firstAt).toBeLessThan(isJudgedLoosely ? 5000 : 500);
    expect(seen).toEqual(["Hi"]);
    expect(server.logged().at(-1)).toMatchObject({ failure: "engine-died" });
    const reply = await ask(server, "/api/generate", { model: "tiny", prompt });
    expect(reply.objects).toHaveLength(2);
    expect(reply.last).toEqual({ error: expect.stringMatching(text) });
  });

  test("before the first word is a 500 of its own", async () => {
    await using server = await startTestServer({ models: { tiny }, script: dyingEarly });
    const reply = await ask(server, "/api/chat", { model: "tiny", messages });
    expect(reply.status).toBe(500);
    expect(reply.last).toEqual({ error: expect.stringMatching(text) });
  });
});

test("an answer that repeats itself until the limit still ends with done and length", async () => {
  await using server = await startTestServer({ models: { tiny }, script: repeating });
  const { last, objects } = await ask(server, "/api/generate", { model: "tiny", prompt });
  expect(objects).toHaveLength(201);
  expect(last).toMatchObject({ done: true, done_reason: "length", eval_count: 200 });
});

test("one more than the places and the line hold is told to come again, although the model is loaded", async () => {
  const limits = { sequences: 1, waitingLine: 1 };
  await using server = await startTestServer({ models: { tiny }, script: waiting, limits });
  await ask(server, "/api/generate", { model: "tiny" });
  const replies = await Promise.all(
    [1, 2, 3].map(() => ask(server, "/api/generate", { model: "tiny", prompt, stream: false })),
  );
  expect(replies.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 200, 503]);
  const refused = replies.find(({ status }) => status === 503);
  expect(refused?.last).toEqual({
    error: "server busy, please try again.  maximum pending requests exceeded",
  });
  expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
});

describe("a client that hangs up", () => {
  test("while the prompt is read frees its place within two seconds, on real weights", async () => {
    await using server = await startTestServer({ models: { smol }, limits: { contextTokens: 4096 } });
    await ask(server, "/api/generate", { model: "smol" });
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    const body = JSON.stringify({ model: "smol", prompt: "one two three ".repeat(1200) });
    socket.write(
      `POST /api/generate HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await expect.poll(() => server.scheduler.queueLengths()[0]?.leases).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(server.scheduler.queueLengths()[0]?.leases).toBe(1);
    socket.destroy();
    await expect.poll(() => server.scheduler.queueLengths()[0]?.leases, { timeout: 2000 }).toBe(0);
  }, 60_000);

  test("with the official client's abort sees an AbortError and frees its place", async () => {
    await using server = await startTestServer({ models: { tiny }, script: sayingHiForEver });
    const client = new Ollama({ host: server.url });
    const stream = await client.chat({ model: "tiny", messages, stream: true });
    const reading = (async () => {
      for await (const { message } of stream) if (message.content === "Hi") stream.abort();
    })();
    await expect(reading).rejects.toMatchObject({ name: "AbortError" });
    await expect.poll(() => server.scheduler.queueLengths()[0]?.leases).toBe(0);
  });
});
