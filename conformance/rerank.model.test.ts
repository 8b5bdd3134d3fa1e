import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer, tiny } from "../apps/hearth/src/test/start-test-server.ts";
import { makeReranker } from "./make-reranker.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ models: { tiny } });
  const file = await makeReranker();
  const digest = `sha256:${createHash("sha256").update(file).digest("hex")}`;
  const upload = await fetch(`${server.url}/api/blobs/${digest}`, {
    method: "POST",
    body: new Uint8Array(file),
  });
  const created = await post("/api/create", {
    model: "reranker",
    files: { "reranker.gguf": digest },
    stream: false,
  });
  if (upload.status !== 201 || created.status !== 200) throw new Error("Cannot create the reranker");
});
afterAll(() => server[Symbol.asyncDispose]());

async function post(
  path: string,
  body: object,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
}

const query = "How do cats sleep?";
const documents = [
  "Cats sleep for most of the day.",
  "Stocks fell.",
  "A recipe for bread.",
  "Cats sleep for most of the day.",
];

type Ranking = {
  readonly results: readonly { readonly index: number; readonly relevance_score: number }[];
  readonly usage: { readonly total_tokens: number };
};

async function rerank(settings: object = {}): Promise<Ranking> {
  const { status, body } = await post("/v1/rerank", { model: "reranker", query, documents, ...settings });
  expect([status, body]).toEqual([200, expect.anything()]);
  // The shape of Jina's response, whose fields the tests check.
  return body as Ranking;
}

test("documents are ordered by scores between 0 and 1, and equal documents have equal scores", async () => {
  const { results, usage } = await rerank();
  const scores = results.map(({ relevance_score: score }) => score);
  expect(new Set(results.map(({ index }) => index))).toEqual(new Set([0, 1, 2, 3]));
  expect(scores).toEqual(scores.toSorted((first, second) => second - first));
  expect(scores.every((score) => score > 0 && score < 1)).toBe(true);
  const scoreOf = (wanted: number) => results.find(({ index }) => index === wanted)?.relevance_score;
  expect(scoreOf(0)).toBe(scoreOf(3));
  expect(new Set(scores).size).toBe(3);
  expect(usage.total_tokens).toBeGreaterThan(40);
});

test("top_n keeps the best, and documents are returned when asked for", async () => {
  const all = await rerank();
  const objects = documents.map((text) => ({ text }));
  const best = await rerank({ documents: objects, top_n: 2, return_documents: true });
  expect(best.results).toEqual(
    all.results.slice(0, 2).map((result) => ({ ...result, document: { text: documents[result.index] } })),
  );
});

test("a document that exceeds the context, no document, or a model that cannot rank is rejected", async () => {
  const long = { model: "reranker", query, documents: ["word ".repeat(2000)] };
  expect(await post("/v1/rerank", long)).toMatchObject({
    status: 400,
    body: { error: { code: "context_length_exceeded" } },
  });
  expect(await post("/v1/rerank", { ...long, documents: [] })).toMatchObject({ status: 400 });
  expect(await post("/v1/rerank", { ...long, model: "tiny", documents })).toMatchObject({ status: 400 });
  expect((await rerank()).results).toHaveLength(4);
});

test("/api/tokenize returns the tokens of a text, and /api/render the prompt that a chat evaluates", async () => {
  const messages = [
    { role: "system", content: "Be brief" },
    { role: "user", content: "Say hello" },
  ];
  const options = { seed: 1, temperature: 0, num_predict: 1 };
  const chat = await post("/api/chat", { model: "tiny", messages, options, stream: false });
  const rendered = await post("/api/render", { model: "tiny", messages });
  expect(rendered).toMatchObject({
    status: 200,
    body: { model: "tiny", prompt: expect.stringContaining("Be brief") },
  });
  // Ollama's names of the counts.
  const [{ prompt_eval_count: evaluated }, { prompt, prompt_eval_count: counted }] = [
    chat.body,
    rendered.body,
  ] as [{ prompt_eval_count: number }, { prompt: string; prompt_eval_count: number }];
  expect(counted).toBe(evaluated);
  const tokenized = await post("/api/tokenize", { model: "tiny", prompt });
  // Hearth's own shape.
  const { tokens, count } = tokenized.body as { tokens: readonly number[]; count: number };
  expect(tokens).toHaveLength(count);
  // Evaluation begins with one more token if the model has one for the beginning.
  expect([count, count + 1]).toContain(evaluated);
  expect(await post("/api/tokenize", { model: "missing", prompt })).toMatchObject({ status: 404 });
  expect(await post("/api/render", { model: "reranker", messages })).toMatchObject({ status: 400 });
});
