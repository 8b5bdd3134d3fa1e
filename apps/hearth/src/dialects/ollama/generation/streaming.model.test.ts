import { connect } from "node:net";
import type { FakeEngineScript, FakeEngineStep } from "@hearth-and-keep/engine/testing";
import { hasLooseTimingBounds } from "@hearth-and-keep/figures";
import { describe, expect, test } from "vitest";
import { smol, startTestServer, tiny } from "../../../test/start-test-server.ts";
import { fakeOutput, parseObject, sendRequest } from "../test/send-request.ts";

const prompt = "What is 2+2?";
const messages = [{ role: "user", content: prompt }];
const never: FakeEngineStep = { do: "wait", milliseconds: 60_000 };
const sayingHiForEver: FakeEngineScript = () => [{ do: "write", text: "Hi" }, never];
const waiting: FakeEngineScript = () => [
  { do: "wait", milliseconds: 500 },
  { do: "end", reason: "stop" },
];
const repeating: FakeEngineScript = () => [
  ...Array.from({ length: 200 }, () => ({ do: "write", text: " x" }) as const),
  { do: "end", reason: "length" },
];

describe("lines", () => {
  test("contain one object each, none is empty, and the last one is done", async () => {
    await using server = await startTestServer({
      models: { tiny },
      script: fakeOutput("One\n\ntwo", " three"),
    });
    for (const accept of [
      "application/json",
      "application/x-ndjson",
      "*/*",
      "text/event-stream, application/json",
    ]) {
      const reply = await sendRequest(
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

  test("are not cached, compressed or buffered by proxies", async () => {
    await using server = await startTestServer({ models: { tiny }, script: fakeOutput("4") });
    const headers = { "accept-encoding": "gzip, br, zstd" };
    const reply = await sendRequest(server, { path: "/api/generate", headers }, { model: "tiny", prompt });
    expect(reply.headers.get("cache-control")).toBe("no-cache");
    expect(reply.headers.get("x-accel-buffering")).toBe("no");
    expect(reply.headers.has("content-encoding")).toBe(false);
  });

  test("are sent as soon as they are generated", async () => {
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

test("server-sent events are for clients that accept nothing else, with the same objects and done at the end", async () => {
  await using server = await startTestServer({ models: { tiny }, script: fakeOutput("One", " two") });
  const headers = { accept: "text/event-stream" };
  for (const [path, input] of [
    ["/api/chat", { messages }],
    ["/api/generate", { prompt }],
  ] as const) {
    const reply = await sendRequest(server, { path, headers }, { model: "tiny", ...input });
    expect(reply.headers.get("content-type")).toBe("text/event-stream");
    const events = reply.text.split("\n\n").filter((event) => event !== "");
    expect(events.every((event) => event.startsWith("data: "))).toBe(true);
    const objects = events.map((event) => parseObject(event.slice("data: ".length)));
    expect(objects.map(({ done }) => done)).toEqual([false, false, true]);
  }
  const complete = await sendRequest(
    server,
    { path: "/api/chat", headers },
    { model: "tiny", messages, stream: false },
  );
  expect(complete.headers.get("content-type")).toBe("application/json; charset=utf-8");
});

const failure = { kind: "engine-crashed", exitCode: null, signal: "SIGKILL" } as const;
const dyingLate: FakeEngineScript = () => [{ do: "write", text: "Hi" }, { do: "crash", failure }, never];
const dyingEarly: FakeEngineScript = () => [{ do: "crash", failure }, never];

describe("an engine that crashes", () => {
  const text = /model runner has unexpectedly stopped/u;

  test("mid-stream ends the stream at once with the error, and no done is sent", async () => {
    await using server = await startTestServer({ models: { tiny }, script: dyingLate });
    const request = { method: "POST", body: JSON.stringify({ model: "tiny", messages }) };
    const response = await fetch(`${server.url}/api/chat`, request);
    const lines: string[] = [];
    let firstAt = 0;
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      if (lines.length === 0) firstAt = performance.now();
      lines.push(...chunk.split("\n").filter((line) => line !== ""));
    }
    expect(performance.now() - firstAt).toBeLessThan(hasLooseTimingBounds ? 5000 : 500);
    expect(lines.map(parseObject)).toEqual([
      expect.objectContaining({ done: false, message: { role: "assistant", content: "Hi" } }),
      { error: expect.stringMatching(text), code: "engine-crashed" },
    ]);
    expect(server.logRecords().at(-1)).toMatchObject({ failure: "engine-crashed" });
    const reply = await sendRequest(server, "/api/generate", { model: "tiny", prompt });
    expect(reply.objects).toHaveLength(2);
    expect(reply.last).toEqual({ error: expect.stringMatching(text), code: "engine-crashed" });
  });

  test("before the first token results in status 500", async () => {
    await using server = await startTestServer({ models: { tiny }, script: dyingEarly });
    const reply = await sendRequest(server, "/api/chat", { model: "tiny", messages });
    expect(reply.status).toBe(500);
    expect(reply.last).toEqual({ error: expect.stringMatching(text), code: "engine-crashed" });
  });
});

test("output that repeats itself until the limit ends with done and length", async () => {
  await using server = await startTestServer({ models: { tiny }, script: repeating });
  const { last, objects } = await sendRequest(server, "/api/generate", { model: "tiny", prompt });
  expect(objects).toHaveLength(201);
  expect(last).toMatchObject({ done: true, done_reason: "length", eval_count: 200 });
});

test("a request that finds all slots and the queue full gets 503, even if the model is loaded", async () => {
  const limits = { sequences: 1, maxQueuedPerModel: 1 };
  await using server = await startTestServer({ models: { tiny }, script: waiting, limits });
  await sendRequest(server, "/api/generate", { model: "tiny" });
  const replies = await Promise.all(
    [1, 2, 3].map(() => sendRequest(server, "/api/generate", { model: "tiny", prompt, stream: false })),
  );
  expect(replies.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 200, 503]);
  const rejected = replies.find(({ status }) => status === 503);
  expect(rejected?.last).toEqual({
    error: "server busy, please try again.  maximum pending requests exceeded",
    code: "queue-full",
    retry_after_seconds: Number(rejected?.headers.get("retry-after")),
  });
  expect(Number(rejected?.headers.get("retry-after"))).toBeGreaterThan(0);
});

describe("a client that disconnects", () => {
  test("while the prompt is evaluated frees its slot within two seconds, on real weights", async () => {
    await using server = await startTestServer({ models: { smol }, limits: { contextTokens: 4096 } });
    await sendRequest(server, "/api/generate", { model: "smol" });
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
});
