import type { Script } from "@hearth-and-keep/engine/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accessKey } from "../access/keys.ts";
import { readServeConfig } from "../config.ts";
import { familyCalls } from "./family-calls.ts";
import { startTestServer, type TestServer, tiny } from "./start-test-server.ts";

const script: Script = () => [
  { do: "say", text: "fo" },
  { do: "say", text: "ur" },
  { do: "end", reason: "stop" },
];
const pieces = ["fo", "ur"];
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

type Answer = { readonly status: number; readonly type: string; readonly text: string };

async function get(path: string): Promise<Record<string, unknown>> {
  const response = await fetch(open.url + path);
  expect(response.status).toBe(200);
  return JSON.parse(await response.text());
}

async function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(open.url + path, { method: "POST", body: JSON.stringify(body), headers });
  const type = response.headers.get("content-type") ?? "";
  return { status: response.status, type, text: await response.text() };
}

/** The data of every event. */
function eventsOf({ text }: Answer): readonly string[] {
  return [...text.matchAll(/^data: (.*)$/gmu)].map(([, written = ""]) => written);
}

function linesOf({ text }: Answer): readonly string[] {
  return text.trimEnd().split("\n");
}

function parse(text: string): Record<string, unknown> {
  return JSON.parse(text);
}

describe("an entry of the local-runner list", () => {
  test("has a name with its tag", async () => {
    expect(await get("/api/tags")).toMatchObject({ models: [{ name: "tiny:latest" }] });
  });

  test("has a size, a whole number of bytes", async () => {
    const { models } = await get("/api/tags");
    expect(models).toEqual([expect.objectContaining({ size: expect.any(Number) })]);
    expect(JSON.stringify(models)).toMatch(/"size":[1-9]\d+[,}]/u);
  });

  test("has modified_at in ISO 8601, which ends in Z", async () => {
    const written = /"modified_at":"([^"]+)"/u.exec(JSON.stringify(await get("/api/tags")))?.[1] ?? "";
    expect(written).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/u);
    expect(Math.abs(Date.now() - Date.parse(written))).toBeLessThan(600_000);
  });
});

describe("an entry of the chat-completions list", () => {
  test("has the model's name as its id", async () => {
    expect(await get("/v1/models")).toMatchObject({ data: [{ id: "tiny:latest" }] });
  });

  test("is an object of the kind model", async () => {
    expect(await get("/v1/models")).toMatchObject({ data: [{ object: "model" }] });
  });

  test("is owned by local", async () => {
    expect(await get("/v1/models")).toMatchObject({ data: [{ owned_by: "local" }] });
  });
});

describe("a chat message", () => {
  test.for(familyCalls)(
    "has the roles and the content that the engine is shown: $name",
    async ({ path, body }) => {
      const asked = { ...body({ model: "tiny" }, false), messages };
      expect((await post(path, asked)).status).toBe(200);
      expect(open.requests.at(-1)?.input).toMatchObject({ conversation: { messages } });
    },
  );
});

describe("a response body", () => {
  test("of a chat-completions stream carries text in the delta of its choices", async () => {
    const answer = await post("/v1/chat/completions", { model: "tiny", messages, stream: true });
    const chunks = eventsOf(answer).slice(0, -1).map(parse);
    const texts = chunks.map((chunk) => (chunk as { choices: { delta: { content?: string } }[] }).choices); // As the test's name says.
    expect(texts.flatMap((choices) => choices.map(({ delta }) => delta.content ?? "")).join("")).toBe("four");
  });

  test("of the messages family has a content array whose items have text", async () => {
    const answer = await post("/alt/v1/messages", { model: "tiny", messages, max_tokens: 8 });
    expect(parse(answer.text)).toMatchObject({ content: [{ text: "four" }] });
  });

  test("of a local-runner stream ends with an object containing done: true", async () => {
    for (const body of [{ prompt: "2+2?" }, { messages }]) {
      const answer = await post("prompt" in body ? "/api/generate" : "/api/chat", { model: "tiny", ...body });
      const done = linesOf(answer).map((line) => parse(line)["done"]);
      expect(done).toEqual([false, false, true]);
    }
  });
});

describe("an endpoint", () => {
  test("POST /api/generate streams chunks when stream is true, else gives a single reply", async () => {
    const asked = { model: "tiny", prompt: "2+2?", options: { temperature: 0 } };
    const streamed = linesOf(await post("/api/generate", { ...asked, stream: true })).map(parse);
    expect(streamed.map((chunk) => chunk["response"]).join("")).toBe("four");
    expect(streamed.length).toBeGreaterThan(1);
    const whole = await post("/api/generate", { ...asked, stream: false });
    expect(linesOf(whole).map(parse)).toMatchObject([{ response: "four", done: true }]);
  });

  test("POST /api/chat streams chunks when stream is true, else gives a single reply", async () => {
    const asked = { model: "tiny", messages, options: { temperature: 0 } };
    const streamed = linesOf(await post("/api/chat", { ...asked, stream: true })).map(parse);
    expect(streamed.length).toBeGreaterThan(1);
    const whole = await post("/api/chat", { ...asked, stream: false });
    expect(linesOf(whole).map(parse)).toMatchObject([{ message: { content: "four" }, done: true }]);
  });

  test("GET /api/tags gives an object with models, an array of entries", async () => {
    expect(await get("/api/tags")).toEqual({ models: [expect.objectContaining({ name: "tiny:latest" })] });
  });

  test("POST /v1/chat/completions gives a completion object, or events when stream is true", async () => {
    const asked = { model: "tiny", messages, temperature: 0, max_tokens: 8 };
    const whole = await post("/v1/chat/completions", { ...asked, stream: false });
    expect(parse(whole.text)).toMatchObject({
      object: "chat.completion",
      choices: [{ message: { content: "four" } }],
    });
    const streamed = await post("/v1/chat/completions", { ...asked, stream: true });
    expect(streamed.type).toContain("text/event-stream");
  });

  test("GET /v1/models gives an object with data, an array of entries", async () => {
    expect(await get("/v1/models")).toMatchObject({ data: [{ id: "tiny:latest" }] });
  });

  test("POST /alt/v1/messages gives a message object", async () => {
    const answer = await post("/alt/v1/messages", { model: "tiny", max_tokens: 8, messages });
    expect(parse(answer.text)).toMatchObject({ type: "message", role: "assistant" });
  });

  test("GET /api/status tells that nothing is asked of other machines", async () => {
    expect(await get("/api/status")).toMatchObject({ cloud: { disabled: true } });
  });

  test("answers a base address without /v1, or with it twice, as if it were right", async () => {
    const chat = { model: "tiny", messages, max_tokens: 8 };
    const asked = [
      ["/chat/completions", chat],
      ["/v1/v1/chat/completions", chat],
      ["/completions", { model: "tiny", prompt: "2+2?" }],
      ["/embeddings", { model: "tiny", input: "four" }],
      ["/v1/v1/messages", chat],
    ] as const;
    const kinds = asked.map(async ([path, body]) => parse((await post(path, body)).text));
    expect(await Promise.all(kinds)).toMatchObject([
      { object: "chat.completion" },
      { object: "chat.completion" },
      { object: "text_completion" },
      { object: "list" },
      { type: "message" },
    ]);
    expect(await get("/models")).toEqual(await get("/v1/models"));
  });

  test("counts tokens alike at every path of the messages family", async () => {
    const counts = ["/alt/v1", "/v1", "/v1/v1"].map((base) =>
      post(`${base}/messages/count_tokens`, { model: "tiny", messages }),
    );
    const [first, ...others] = (await Promise.all(counts)).map(({ text }) => parse(text));
    expect(first).toEqual({ input_tokens: expect.any(Number) });
    expect(others).toEqual([first, first]);
  });

  test("takes a JSON body although no header calls it so", async () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    for (const { path, body } of familyCalls) {
      expect((await post(path, body({ model: "tiny" }, false), headers)).status).toBe(200);
    }
  });
});

/** Of the same chat in each family. */
async function statuses(server: TestServer, headers: Record<string, string>): Promise<readonly number[]> {
  const calls = familyCalls.map(async ({ path, body }) => {
    const written = JSON.stringify(body({ model: "tiny" }, false));
    const response = await fetch(server.url + path, { method: "POST", body: written, headers });
    await response.text();
    return response.status;
  });
  return Promise.all(calls);
}

describe("authentication", () => {
  test("is not required of a server without a key", async () => {
    expect(await statuses(open, {})).toEqual([200, 200, 200]);
  });

  test("of a server without a key takes any non-empty string, in every header", async () => {
    const sent = [
      { authorization: "Bearer anything" },
      { "x-api-key": "anything" },
      { authorization: "Basic anything" },
      { authorization: "Bearer one", "x-api-key": "another" },
    ];
    for (const headers of sent) expect(await statuses(open, { ...headers })).toEqual([200, 200, 200]);
  });

  test("with a key is required of all requests", async () => {
    expect(await statuses(locked, {})).toEqual([401, 401, 401]);
    expect(await statuses(locked, { authorization: "Bearer wrong" })).toEqual([401, 401, 401]);
    expect(await statuses(locked, { authorization: "Bearer right" })).toEqual([200, 200, 200]);
  });

  test("of the local-runner and chat-completions families is Authorization: Bearer", async () => {
    const headers = { authorization: "Bearer right" };
    for (const path of ["/api/tags", "/v1/models"]) {
      expect((await fetch(locked.url + path, { headers })).status).toBe(200);
      expect((await fetch(locked.url + path)).status).toBe(401);
    }
  });

  test("of the messages family is x-api-key", async () => {
    const path = `${locked.url}/alt/v1/models`;
    expect((await fetch(path, { headers: { "x-api-key": "right" } })).status).toBe(200);
    expect((await fetch(path, { headers: { "x-api-key": "wrong" } })).status).toBe(401);
  });

  test("takes either header form on every path", async () => {
    expect(await statuses(locked, { "x-api-key": "right" })).toEqual([200, 200, 200]);
  });
});

describe("streaming", () => {
  const accept = { accept: "text/event-stream" };

  test.for(familyCalls)(
    "of the $name family happens when stream is true, and not when it is false",
    async ({ path, body }) => {
      const streamed = await post(path, body({ model: "tiny" }, true));
      expect(streamed.type).toMatch(/ndjson|event-stream/u);
      expect((await post(path, body({ model: "tiny" }, false))).type).toContain("application/json");
    },
  );

  test.for(familyCalls)(
    "of the $name family is a stream of Server-Sent Events for those who accept one",
    async ({ path, body }) => {
      const answer = await post(path, body({ model: "tiny" }, true), accept);
      expect(answer.type).toContain("text/event-stream");
      expect(eventsOf(answer).length).toBeGreaterThan(2);
    },
  );

  test.for(familyCalls)("of the $name family has a part of the answer in each chunk", async (family) => {
    const answer = await post(family.path, family.body({ model: "tiny" }, true), accept);
    const holding = (piece: string) => eventsOf(answer).filter((event) => event.includes(`"${piece}"`));
    for (const piece of pieces) expect(holding(piece)).toHaveLength(1);
    expect(holding("four")).toHaveLength(0);
  });

  test("of the chat-completions family ends with a message whose data is DONE in brackets", async () => {
    const answer = await post("/v1/chat/completions", { model: "tiny", messages, stream: true });
    expect(eventsOf(answer).indexOf("[DONE]")).toBe(eventsOf(answer).length - 1);
    expect(answer.text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  test("of the local-runner family ends with a JSON object in which done is true, as lines and as events", async () => {
    const body = { model: "tiny", messages, stream: true };
    const asLines = linesOf(await post("/api/chat", body));
    const asEvents = eventsOf(await post("/api/chat", body, accept));
    for (const written of [asLines, asEvents]) expect(parse(written.at(-1) ?? "")["done"]).toBe(true);
  });
});

describe("a limit", () => {
  test("is the port 11434 unless another is set", () => {
    expect(readServeConfig({}, undefined).port).toBe(11_434);
    expect(readServeConfig({ port: "8080" }, undefined).port).toBe(8080);
  });
});
