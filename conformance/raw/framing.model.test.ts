import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { openConnection, readChunks, requestText } from "./raw-connection.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    models: { tiny },
    script: () => [
      { do: "write", text: "Hel\n" },
      { do: "wait", milliseconds: 20 },
      { do: "write", text: "\n\nlo" },
      { do: "end", reason: "stop" },
    ],
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const messages = [{ role: "user", content: "Hi" }];

async function streamOf(path: string, body: object, headers: readonly string[] = []) {
  using connection = openConnection(server.url);
  connection.send(requestText(path, { headers, body: JSON.stringify({ model: "tiny", messages, ...body }) }));
  return readChunks(await connection.until("\r\n0\r\n\r\n"));
}

/** Removes times, durations and ids, which differ between runs. */
function masked(chunks: readonly string[]): readonly string[] {
  return chunks.map((chunk) =>
    chunk
      .replace(/"(?<name>\w+_duration)":\d+/gu, '"$<name>":0')
      .replace(/"created_at":"[^"]+Z"/gu, '"created_at":"T"')
      .replace(/"(?<name>created_at|completed_at|created)":\d+/gu, '"$<name>":0')
      .replace(/"(?<kind>chatcmpl-|msg_|resp_|cmpl-)\w+"/gu, '"$<kind>"'),
  );
}

function chatLine(content: string): string {
  const message = `{"role":"assistant","content":${JSON.stringify(content)}}`;
  return `{"model":"tiny","created_at":"T","message":${message},"done":false}\n`;
}

test("NDJSON has one complete line per chunk, and no blank lines, even if the text has some", async () => {
  const { head, chunks } = await streamOf("/api/chat", { think: false });
  expect(head).toContain("\r\ncontent-type: application/x-ndjson");
  expect(head).toContain("\r\ntransfer-encoding: chunked");
  const [first, second, last, ...more] = masked(chunks);
  expect([first, second]).toEqual([chatLine("Hel\n"), chatLine("\n\nlo")]);
  expect(last).toMatch(/^\{"model":"tiny","created_at":"T",.*"done":true,"done_reason":"stop",.*\}\n$/u);
  expect(more).toEqual([]);
  expect(
    chunks
      .join("")
      .split("\n")
      .filter((text) => text.trim() === ""),
  ).toEqual([""]);
});

test("generate uses the same NDJSON framing, and its last line ends the body", async () => {
  const { chunks } = await streamOf("/api/generate", { prompt: "Hi", raw: true });
  expect(masked(chunks).slice(0, 2)).toEqual([
    '{"model":"tiny","created_at":"T","response":"Hel\\n","done":false}\n',
    '{"model":"tiny","created_at":"T","response":"\\n\\nlo","done":false}\n',
  ]);
  expect(chunks.join("")).toMatch(/[^\n]\n$/u);
});

test("on /api, Accept with only events returns events with the same objects; with JSON too, it returns lines", async () => {
  const events = await streamOf("/api/chat", { think: false }, ["accept: text/event-stream"]);
  expect(events.head).toContain("\r\ncontent-type: text/event-stream");
  const lines = await streamOf("/api/chat", { think: false }, [
    "accept: application/json, text/event-stream",
  ]);
  expect(lines.head).toContain("\r\ncontent-type: application/x-ndjson");
  expect(masked(events.chunks)).toEqual(masked(lines.chunks).map((line) => `data: ${line}\n`));
});

test("chat completions are events with data only, each followed by a blank line, and [DONE] at the end", async () => {
  const { head, chunks } = await streamOf("/v1/chat/completions", { stream: true });
  expect(head).toContain("\r\ncontent-type: text/event-stream");
  const text = chunks.join("");
  expect(text).toMatch(/^(?:data: [^\n]+\n\n)+$/u);
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  const events = masked([text])[0]?.split("\n\n").slice(0, -2) ?? [];
  const deltas = events.map((event) => /"delta":(?<delta>\{[^{}]*\})/u.exec(event)?.groups?.["delta"]);
  expect(deltas).toEqual([
    '{"role":"assistant","content":""}',
    '{"content":"Hel\\n"}',
    '{"content":"\\n\\nlo"}',
    "{}",
  ]);
});

test("messages are named events, each named like the type in its data, and message_stop is last", async () => {
  const { chunks } = await streamOf("/v1/messages", { stream: true, max_tokens: 16 });
  const text = chunks.join("");
  expect(text).toMatch(/^(?:event: [a-z_]+\ndata: [^\n]+\n\n)+$/u);
  for (const event of text.split("\n\n").slice(0, -1)) {
    expect(event).toMatch(/^event: (?<name>[a-z_]+)\ndata: \{"type":"\k<name>"/u);
  }
  expect(text.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')).toBe(true);
});

test("responses are named events, numbered without gaps, without [DONE]", async () => {
  const { chunks } = await streamOf("/v1/responses", { stream: true, input: "Hi" });
  const text = chunks.join("");
  expect(text).toMatch(/^(?:event: [a-z_.]+\ndata: [^\n]+\n\n)+$/u);
  const numbers = [...text.matchAll(/"sequence_number":(\d+)/gu)].map(([, number]) => Number(number));
  expect(numbers).toEqual(numbers.map((_number, index) => index));
  expect(text.split("\n\n").at(-2)).toMatch(/^event: response\.completed\n/u);
  expect(text).not.toContain("[DONE]");
});

test.each([
  ["/api/chat", {}],
  ["/api/generate", { prompt: "Hi" }],
  ["/v1/chat/completions", { stream: true }],
  ["/v1/completions", { stream: true, prompt: "Hi" }],
  ["/v1/responses", { stream: true, input: "Hi" }],
  ["/v1/messages", { stream: true, max_tokens: 16 }],
  ["/alt/v1/messages", { stream: true, max_tokens: 16 }],
])("curl without -N and proxies buffer: %s disables buffering", async (path, body) => {
  const { head } = await streamOf(path, body, ["accept-encoding: gzip, br, zstd"]);
  expect(head).toContain("\r\ncache-control: no-cache");
  expect(head).toContain("\r\nx-accel-buffering: no");
  expect(head).not.toContain("content-encoding");
});
