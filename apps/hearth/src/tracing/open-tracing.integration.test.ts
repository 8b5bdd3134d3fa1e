import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { startTestServer, type TestServer, tiny } from "../test/start-test-server.ts";
import { openTracing } from "./open-tracing.ts";
import { type ReceivedSpan, readSpans } from "./test/read-spans.ts";

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

/** A collector that receives OTLP over HTTP. */
async function startCollector(respond: Respond = (_request, response) => response.end()) {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    expect(request.url).toBe("/v1/traces");
    expect(request.headers["content-type"]).toBe("application/x-protobuf");
    bodies.push(body);
    spans.push(...readSpans(body));
    respond(request, response);
  };
  const server = createServer((request, response) => void receive(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a TCP port has an address of this type.
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    bodies,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const script = () =>
  [
    { do: "write", text: "canary-of-the-output" },
    { do: "end", reason: "stop" },
  ] as const;

async function startTraced(endpoint: string) {
  const failures: number[] = [];
  const onFailure = (): void => void failures.push(performance.now());
  const tracing = openTracing({ endpoint, host: "127.0.0.1", port: 11_434, onFailure });
  const server = await startTestServer({ models: { tiny }, script, tracing });
  const stop = async (): Promise<number> => {
    const startedAt = performance.now();
    await tracing[Symbol.asyncDispose]();
    return performance.now() - startedAt;
  };
  return { server, failures, stop, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const messages = [{ role: "user", content: "canary-of-the-prompt" }];

async function chat({ url }: TestServer, headers: Readonly<Record<string, string>> = {}, model = "tiny") {
  const body = JSON.stringify({ model, messages });
  const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", body, headers });
  await response.text();
  return response.status;
}

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const parentId = "00f067aa0ba902b7";
const traceparent = `00-${traceId}-${parentId}-01`;

test("a span per request follows the conventions, continues the client's trace and has no text", async () => {
  using collector = await startCollector();
  await using traced = await startTraced(collector.endpoint);
  const { url } = traced.server;
  expect(await chat(traced.server, { traceparent, tracestate: "vendor=1" })).toBe(200);
  expect(await chat(traced.server, {}, "missing")).toBe(404);
  await fetch(`${url}/api/tags`);
  await fetch(`${url}/api/embed`, { method: "POST", body: JSON.stringify({ model: "tiny", input: "x" }) });
  await traced.stop();
  const [span, ...others] = collector.spans.filter(({ kind }) => kind === "server");
  expect(span).toMatchObject({
    name: "chat tiny:latest",
    traceId,
    parentSpanId: parentId,
    traceState: "vendor=1",
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "hearth",
      "gen_ai.request.model": "tiny:latest",
      "gen_ai.response.model": "tiny:latest",
      "gen_ai.usage.input_tokens": expect.any(Number),
      "gen_ai.usage.output_tokens": 1,
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.response.time_to_first_chunk": expect.any(Number),
      "server.address": "127.0.0.1",
      "server.port": 11_434,
      "http.route": "/v1/chat/completions",
      "http.response.status_code": 200,
      "hearth.runs_on": "local",
    },
  });
  recordFigure({
    claim: "share 9",
    text: `${Object.keys(span?.attributes ?? {}).length} attributes on a span by the conventions for generative AI; no prompt, no output`,
  });
  expect(others.map(({ name }) => name)).toEqual(["chat", "embeddings tiny:latest"]);
  expect(others[0]?.attributes).toMatchObject({ "error.type": "model-not-found" });
  const phases = collector.spans.filter(({ parentSpanId }) => parentSpanId === span?.spanId);
  for (const phase of phases) {
    expect(phase.traceId).toBe(traceId);
    expect(phase.startNanoseconds).toBeGreaterThanOrEqual(span?.startNanoseconds ?? 0n);
    expect(phase.endNanoseconds).toBeLessThanOrEqual(span?.endNanoseconds ?? 0n);
  }
  expect(Buffer.concat(collector.bodies).includes("canary")).toBe(false);
  const record = traced.server.logRecords().find((each) => each["traceId"] === traceId);
  expect(record).toBeDefined();
  expect(record).not.toHaveProperty("traceParent");
});

test.each([
  "",
  "00-0-0-0",
  `00-${"0".repeat(32)}-${parentId}-01`,
  `00-${traceId}-${"0".repeat(16)}-01`,
  `ff-${traceId}-${parentId}-01`,
  `00-${traceId.toUpperCase()}-${parentId}-01`,
  `00-${traceId}-${parentId}-01-extra`,
  `${traceparent}, ${traceparent}`,
  `00-${"a".repeat(8000)}`,
  `<script>%00';DROP TABLE spans--`,
])("a hostile trace header starts a new trace: %#", async (header) => {
  using collector = await startCollector();
  await using traced = await startTraced(collector.endpoint);
  const tracestate = "x=".padEnd(600, "y");
  expect(await chat(traced.server, { traceparent: header, tracestate })).toBe(200);
  await traced.stop();
  const [span] = collector.spans.filter(({ kind }) => kind === "server");
  expect(span?.parentSpanId).toBe("");
  expect(span?.traceId).toMatch(/^[\da-f]{32}$/u);
  expect(span?.traceId).not.toBe(traceId);
  expect(span?.traceState).toBe("");
});

const maxStopMilliseconds = hasLooseTimingBounds ? 30_000 : 4500;

test("a collector that is down, slow, failing or hanging neither fails nor delays requests", async () => {
  const kinds: Readonly<Record<string, Respond>> = {
    failing: (_request, response) => void response.writeHead(500).end(),
    slow: (_request, response) => void setTimeout(() => response.end(), 2000),
    hanging: () => undefined,
    cutting: (request) => void request.socket.destroy(),
  };
  let passed = 0;
  const check = async (endpoint: string): Promise<void> => {
    await using traced = await startTraced(endpoint);
    for (let request = 0; request < 20; request += 1) {
      expect(await chat(traced.server, { traceparent })).toBe(200);
      passed += 1;
    }
    await sleep(1200);
    expect(await chat(traced.server)).toBe(200);
    expect(await traced.stop()).toBeLessThan(maxStopMilliseconds);
  };
  const checkKind = async (respond: Respond): Promise<void> => {
    using collector = await startCollector(respond);
    await check(collector.endpoint);
  };
  await Promise.all([...Object.values(kinds).map(checkKind), check("http://127.0.0.1:9")]);
  recordFigure({
    claim: "share 9",
    text: `${passed} of 100 requests succeeded while the collector of traces was down, slow, failing, hanging or cutting connections`,
    counted: { reached: passed, needed: 100 },
  });
}, 60_000);

test("the buffer of spans is bounded while the collector hangs", async () => {
  using collector = await startCollector(() => undefined);
  const tracing = openTracing({
    endpoint: collector.endpoint,
    host: "h",
    port: 1,
    onFailure: () => undefined,
  });
  const record = {
    requestId: "r",
    route: "POST /api/chat",
    status: 200,
    durationMilliseconds: 1,
    model: "m".repeat(10_000),
  };
  for (let request = 0; request < 20_000; request += 1) tracing.recordRequest(record);
  await sleep(1500);
  await tracing[Symbol.asyncDispose]();
  const sent = collector.spans.length;
  expect(sent).toBeGreaterThan(0);
  expect(sent).toBeLessThanOrEqual(4096 + 2 * 512);
  expect(Math.max(...collector.bodies.map(({ length }) => length))).toBeLessThan(1024 * 1024);
}, 30_000);
