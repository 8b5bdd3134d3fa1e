import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { minilm, startTestServer, type TestServer, tiny } from "../apps/hearth/src/test/start-test-server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ models: { tiny, minilm } });
});
afterAll(() => server[Symbol.asyncDispose]());

const messages = [{ role: "user", content: "Say hello" }];
const greedy = { seed: 1, temperature: 0 };

async function post(path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(body) });
  // Every response of these endpoints is an object.
  return { ...((await response.json()) as object), status: response.status };
}

test('/api/embed ["a",""] → [vector, []]: an empty text has a vector too', async () => {
  const response = await post("/api/embed", { model: "minilm", input: ["a", "", "b"] });
  // The shape of Ollama's response.
  const vectors = response["embeddings"] as readonly (readonly number[])[];
  expect(vectors.map((vector) => vector.length)).toEqual([384, 384, 384]);
  expect(vectors[1]).not.toEqual(vectors[0]);
});

test.each(["developer", "control", "Developer"])(
  "/api/chat role %s → 400: it is an instruction",
  async (role) => {
    const body = { model: "tiny", stream: false, options: { ...greedy, num_predict: 4 } };
    const instructed = (instructor: string) =>
      post("/api/chat", { ...body, messages: [{ role: instructor, content: "Be brief" }, ...messages] });
    const asSystem = await instructed("system");
    expect(await instructed(role)).toMatchObject({
      status: 200,
      message: asSystem["message"],
      prompt_eval_count: asSystem["prompt_eval_count"],
    });
    expect(await instructed("narrator")).toMatchObject({ status: 400 });
  },
);

test("num_predict: 0 writes one token: the prompt is evaluated, and nothing is written", async () => {
  const body = { model: "tiny", stream: false, options: { ...greedy, num_predict: 0 } };
  const expected = { status: 200, done: true, done_reason: "length" };
  const chat = await post("/api/chat", { ...body, messages });
  expect(chat).toMatchObject({ ...expected, message: { content: "" } });
  const generated = await post("/api/generate", { ...body, prompt: "Say hello" });
  expect(generated).toMatchObject({ ...expected, response: "" });
  expect([chat["eval_count"] ?? 0, generated["eval_count"] ?? 0]).toEqual([0, 0]);
  expect(Number(chat["prompt_eval_count"])).toBeGreaterThan(0);
});

test('reasoning_effort: "ultra" → 400: it is the highest level', async () => {
  const settings = { model: "tiny", ...greedy };
  for (const effort of ["ultra", "high"]) {
    const chat = { ...settings, messages, max_tokens: 2, reasoning_effort: effort };
    expect(await post("/v1/chat/completions", chat)).toMatchObject({ status: 200 });
    const response = { ...settings, input: "Hi", max_output_tokens: 16, reasoning: { effort } };
    expect(await post("/v1/responses", response)).toMatchObject({ status: 200 });
  }
});

test.each([
  ["/responses", { input: "Hi", max_output_tokens: 16 }],
  ["/v1/v1/responses", { input: "Hi", max_output_tokens: 16 }],
  ["/v1/v1/completions", { prompt: "Hi", max_tokens: 2 }],
])("%s → 404: it works like its siblings", async (path, body) => {
  expect(await post(path, { model: "tiny", ...greedy, ...body })).toMatchObject({ status: 200 });
});

test("/v1/v1/models and /v1/v1/embeddings → 404: they work like their siblings", async () => {
  expect(await post("/v1/v1/embeddings", { model: "minilm", input: "Hi" })).toMatchObject({ status: 200 });
  const list = await fetch(`${server.url}/v1/v1/models`);
  expect(await list.json()).toEqual(await (await fetch(`${server.url}/v1/models`)).json());
});

test("HTTP/1.0 without Host → 403: it is served, but not for a page of another site", async () => {
  expect(await statusOf("GET /api/version HTTP/1.0\r\n\r\n")).toBe(200);
  expect(await statusOf("GET /api/version HTTP/1.0\r\nOrigin: https://evil.example\r\n\r\n")).toBe(403);
  expect(await statusOf("GET /api/version HTTP/1.0\r\nSec-Fetch-Site: cross-site\r\n\r\n")).toBe(403);
  expect(await statusOf("GET /api/version HTTP/1.0\r\nHost: evil.example\r\n\r\n")).toBe(403);
  expect(await statusOf("GET /api/version HTTP/1.1\r\nConnection: close\r\n\r\n")).toBe(400);
});

async function statusOf(request: string): Promise<number> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.write(request);
  // One packet holds the whole head.
  const [chunk] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return Number(/^HTTP\/1\.[01] (\d{3})/u.exec(chunk.toString("latin1"))?.[1]);
}
