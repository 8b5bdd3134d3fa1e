import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accessKey } from "../access/keys.ts";
import { readServeConfig } from "../config.ts";
import { protocolRequests } from "./protocol-requests.ts";
import { startTestServer, type TestServer, tiny } from "./start-test-server.ts";

const script: FakeEngineScript = () => [
  { do: "write", text: "fo" },
  { do: "write", text: "ur" },
  { do: "end", reason: "stop" },
];
const outputChunks = ["fo", "ur"];
const messages = [
  { role: "system", content: "Count." },
  { role: "user", content: "2+2?" },
];

let open: TestServer;
let locked: TestServer;
beforeAll(async () => {
  open = await startTestServer({ models: { tiny }, script });
  locked = await startTestServer({ models: { tiny }, script, access: { keys: [accessKey("one", "right")] } });
});
afterAll(async () => {
  await open[Symbol.asyncDispose]();
  await locked[Symbol.asyncDispose]();
});

type WireResponse = { readonly status: number; readonly type: string; readonly text: string };

async function get(path: string): Promise<Record<string, unknown>> {
  const response = await fetch(open.url + path);
  expect(response.status).toBe(200);
  return JSON.parse(await response.text());
}

async function post(
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<WireResponse> {
  const response = await fetch(open.url + path, { method: "POST", body: JSON.stringify(body), headers });
  const type = response.headers.get("content-type") ?? "";
  return { status: response.status, type, text: await response.text() };
}

/** The data of every event. */
function eventsOf({ text }: WireResponse): readonly string[] {
  return [...text.matchAll(/^data: (.*)$/gmu)].map(([, written = ""]) => written);
}

function linesOf({ text }: WireResponse): readonly string[] {
  return text.trimEnd().split("\n");
}

function parse(text: string): Record<string, unknown> {
  return JSON.parse(text);
}

describe("an entry of the Ollama model list", () => {
  test("has a name with a tag", async () => {
    expect(await get("/api/tags")).toMatchObject({ models: [{ name: "tiny:latest" }] });
  });

  test("has a size in bytes", async () => {
    const { models } = await get("/api/tags");
    expect(models).toEqual([expect.objectContaining({ size: expect.any(Number) })]);
    expect(JSON.stringify(models)).toMatch(/"size":[1-9]\d+[,}]/u);
  });

  test("has modified_at in ISO 8601, in UTC", async () => {
    const written = /"modified_at":"([^"]+)"/u.exec(JSON.stringify(await get("/api/tags")))?.[1] ?? "";
    expect(written).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/u);
    expect(Math.abs(Date.now() - Date.parse(written))).toBeLessThan(600_000);
  });
});

describe("an entry of the OpenAI model list", () => {
  test("has the model's name as its id", async () => {
    expect(await get("/v1/models")).toMatchObject({ data: [{ id: "tiny:latest" }] });
  });

  test("has the object type model", async () => {
    expect(await get("/v1/models")).toMatchObject({ data: [{ object: "model" }] });
  });

  test("is owned by local", async () => {
    expect(await get("/v1/models")).toMatchObject({ data: [{ owned_by: "local" }] });
  });
});

describe("a chat message", () => {
  test.for(protocolRequests)(
    "reaches the engine with its role and content: $name",
    async ({ path, body }) => {
      const sent = { ...body({ model: "tiny" }, false), messages };
      expect((await post(path, sent)).status).toBe(200);
      expect(open.requests.at(-1)?.input).toMatchObject({ conversation: { messages } });
    },
  );
});

describe("a response body", () => {
  test("of an OpenAI stream carries text in the delta of its choices", async () => {
    const response = await post("/v1/chat/completions", { model: "tiny", messages, stream: true });
    const chunks = eventsOf(response).slice(0, -1).map(parse);
    // The shape that the test's name describes.
    const texts = chunks.map((chunk) => (chunk as { choices: { delta: { content?: string } }[] }).choices);
    expect(texts.flatMap((choices) => choices.map(({ delta }) => delta.content ?? "")).join("")).toBe("four");
  });

  test("of the Anthropic API has a content array whose items have text", async () => {
    const response = await post("/alt/v1/messages", { model: "tiny", messages, max_tokens: 8 });
    expect(parse(response.text)).toMatchObject({ content: [{ text: "four" }] });
  });

  test("of an Ollama stream ends with an object containing done: true", async () => {
    for (const body of [{ prompt: "2+2?" }, { messages }]) {
      const response = await post("prompt" in body ? "/api/generate" : "/api/chat", {
        model: "tiny",
        ...body,
      });
      const done = linesOf(response).map((line) => parse(line)["done"]);
      expect(done).toEqual([false, false, true]);
    }
  });
});

describe("an endpoint", () => {
  test("POST /api/generate streams chunks if stream is true, and sends a single object otherwise", async () => {
    const body = { model: "tiny", prompt: "2+2?", options: { temperature: 0 } };
    const streamed = linesOf(await post("/api/generate", { ...body, stream: true })).map(parse);
    expect(streamed.map((chunk) => chunk["response"]).join("")).toBe("four");
    expect(streamed.length).toBeGreaterThan(1);
    const complete = await post("/api/generate", { ...body, stream: false });
    expect(linesOf(complete).map(parse)).toMatchObject([{ response: "four", done: true }]);
  });

  test("POST /api/chat streams chunks if stream is true, and sends a single object otherwise", async () => {
    const body = { model: "tiny", messages, options: { temperature: 0 } };
    const streamed = linesOf(await post("/api/chat", { ...body, stream: true })).map(parse);
    expect(streamed.length).toBeGreaterThan(1);
    const complete = await post("/api/chat", { ...body, stream: false });
    expect(linesOf(complete).map(parse)).toMatchObject([{ message: { content: "four" }, done: true }]);
  });

  test("GET /api/tags returns an object with an array of models", async () => {
    expect(await get("/api/tags")).toEqual({ models: [expect.objectContaining({ name: "tiny:latest" })] });
  });

  test("POST /v1/chat/completions returns a completion object, or events if stream is true", async () => {
    const body = { model: "tiny", messages, temperature: 0, max_tokens: 8 };
    const complete = await post("/v1/chat/completions", { ...body, stream: false });
    expect(parse(complete.text)).toMatchObject({
      object: "chat.completion",
      choices: [{ message: { content: "four" } }],
    });
    const streamed = await post("/v1/chat/completions", { ...body, stream: true });
    expect(streamed.type).toContain("text/event-stream");
  });

  test("GET /v1/models returns an object with an array of models in data", async () => {
    expect(await get("/v1/models")).toMatchObject({ data: [{ id: "tiny:latest" }] });
  });

  test("POST /alt/v1/messages returns a message object", async () => {
    const response = await post("/alt/v1/messages", { model: "tiny", max_tokens: 8, messages });
    expect(parse(response.text)).toMatchObject({ type: "message", role: "assistant" });
  });

  test("GET /api/status reports that cloud models are disabled", async () => {
    expect(await get("/api/status")).toMatchObject({ cloud: { disabled: true } });
  });

  test("accepts a base URL without /v1, or with /v1 twice", async () => {
    const chat = { model: "tiny", messages, max_tokens: 8 };
    const requests = [
      ["/chat/completions", chat],
      ["/v1/v1/chat/completions", chat],
      ["/completions", { model: "tiny", prompt: "2+2?" }],
      ["/embeddings", { model: "tiny", input: "four" }],
      ["/v1/v1/messages", chat],
    ] as const;
    const kinds = requests.map(async ([path, body]) => parse((await post(path, body)).text));
    expect(await Promise.all(kinds)).toMatchObject([
      { object: "chat.completion" },
      { object: "chat.completion" },
      { object: "text_completion" },
      { object: "list" },
      { type: "message" },
    ]);
    expect(await get("/models")).toEqual(await get("/v1/models"));
  });

  test("counts the same tokens on every Anthropic path", async () => {
    const counts = ["/alt/v1", "/v1", "/v1/v1"].map((base) =>
      post(`${base}/messages/count_tokens`, { model: "tiny", messages }),
    );
    const [first, ...others] = (await Promise.all(counts)).map(({ text }) => parse(text));
    expect(first).toEqual({ input_tokens: expect.any(Number) });
    expect(others).toEqual([first, first]);
  });

  test("accepts a JSON body with any Content-Type", async () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    for (const { path, body } of protocolRequests) {
      expect((await post(path, body({ model: "tiny" }, false), headers)).status).toBe(200);
    }
  });
});

/** The status of the same chat in each API. */
async function statuses(server: TestServer, headers: Record<string, string>): Promise<readonly number[]> {
  const calls = protocolRequests.map(async ({ path, body }) => {
    const written = JSON.stringify(body({ model: "tiny" }, false));
    const response = await fetch(server.url + path, { method: "POST", body: written, headers });
    await response.text();
    return response.status;
  });
  return Promise.all(calls);
}

describe("authentication", () => {
  test("is not required by a server without a key", async () => {
    expect(await statuses(open, {})).toEqual([200, 200, 200]);
  });

  test("on a server without a key accepts any non-empty string in every header", async () => {
    const sent = [
      { authorization: "Bearer anything" },
      { "x-api-key": "anything" },
      { authorization: "Basic anything" },
      { authorization: "Bearer one", "x-api-key": "another" },
    ];
    for (const headers of sent) expect(await statuses(open, { ...headers })).toEqual([200, 200, 200]);
  });

  test("is required for all requests to a server with a key", async () => {
    expect(await statuses(locked, {})).toEqual([401, 401, 401]);
    expect(await statuses(locked, { authorization: "Bearer wrong" })).toEqual([401, 401, 401]);
    expect(await statuses(locked, { authorization: "Bearer right" })).toEqual([200, 200, 200]);
  });

  test("on the Ollama and OpenAI APIs is Authorization: Bearer", async () => {
    const headers = { authorization: "Bearer right" };
    for (const path of ["/api/tags", "/v1/models"]) {
      expect((await fetch(locked.url + path, { headers })).status).toBe(200);
      expect((await fetch(locked.url + path)).status).toBe(401);
    }
  });

  test("on the Anthropic API is x-api-key", async () => {
    const path = `${locked.url}/alt/v1/models`;
    expect((await fetch(path, { headers: { "x-api-key": "right" } })).status).toBe(200);
    expect((await fetch(path, { headers: { "x-api-key": "wrong" } })).status).toBe(401);
  });

  test("accepts either header on every path", async () => {
    expect(await statuses(locked, { "x-api-key": "right" })).toEqual([200, 200, 200]);
  });
});

describe("streaming", () => {
  const accept = { accept: "text/event-stream" };

  test.for(protocolRequests)(
    "in the $name API happens if stream is true, and not if it is false",
    async ({ path, body }) => {
      const streamed = await post(path, body({ model: "tiny" }, true));
      expect(streamed.type).toMatch(/ndjson|event-stream/u);
      expect((await post(path, body({ model: "tiny" }, false))).type).toContain("application/json");
    },
  );

  test.for(protocolRequests)(
    "in the $name API uses server-sent events for clients that accept them",
    async ({ path, body }) => {
      const response = await post(path, body({ model: "tiny" }, true), accept);
      expect(response.type).toContain("text/event-stream");
      expect(eventsOf(response).length).toBeGreaterThan(2);
    },
  );

  test.for(protocolRequests)("in the $name API sends part of the output in each chunk", async (protocol) => {
    const response = await post(protocol.path, protocol.body({ model: "tiny" }, true), accept);
    const eventsWith = (chunk: string) => eventsOf(response).filter((event) => event.includes(`"${chunk}"`));
    for (const chunk of outputChunks) expect(eventsWith(chunk)).toHaveLength(1);
    expect(eventsWith("four")).toHaveLength(0);
  });

  test("in the OpenAI API ends with the DONE marker", async () => {
    const response = await post("/v1/chat/completions", { model: "tiny", messages, stream: true });
    expect(eventsOf(response).indexOf("[DONE]")).toBe(eventsOf(response).length - 1);
    expect(response.text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  test("in the Ollama API ends with a JSON object in which done is true, as lines and as events", async () => {
    const body = { model: "tiny", messages, stream: true };
    const asLines = linesOf(await post("/api/chat", body));
    const asEvents = eventsOf(await post("/api/chat", body, accept));
    for (const written of [asLines, asEvents]) expect(parse(written.at(-1) ?? "")["done"]).toBe(true);
  });
});

describe("a default", () => {
  test("for the port defaults to 11434", () => {
    expect(readServeConfig({}, undefined).port).toBe(11_434);
    expect(readServeConfig({ port: "8080" }, undefined).port).toBe(8080);
  });
});
