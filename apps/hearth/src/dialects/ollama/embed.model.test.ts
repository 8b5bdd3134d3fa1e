import { describe, expect, test } from "vitest";
import { minilm, smol, startTestServer } from "../../test/start-test-server.ts";
import { sendRequest } from "./test/send-request.ts";

type Embeddings = { readonly embeddings: readonly (readonly number[])[] };

function lengthOf(vector: readonly number[]): number {
  return Math.hypot(...vector);
}

function likeness(one: readonly number[] = [], other: readonly number[] = []): number {
  return (
    one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0) / lengthOf(one) / lengthOf(other)
  );
}

describe("embed, on real weights", () => {
  test("returns a unit vector for each text in order, truncated to the requested dimensions", async () => {
    await using server = await startTestServer({ models: { minilm } });
    const input = ["a cat", "a kitten", "tax law"];
    const { last } = await sendRequest(server, "/api/embed", { model: "minilm", input });
    const { embeddings } = last as Embeddings; // The shape of embed.
    expect(Object.keys(last)).toEqual([
      "model",
      "embeddings",
      "total_duration",
      "load_duration",
      "prompt_eval_count",
    ]);
    expect(embeddings.map((vector) => vector.length)).toEqual([384, 384, 384]);
    for (const vector of embeddings) expect(lengthOf(vector)).toBeCloseTo(1, 5);
    expect(likeness(embeddings[0], embeddings[1])).toBeGreaterThan(likeness(embeddings[0], embeddings[2]));
    const short = await sendRequest(server, "/api/embed", {
      model: "minilm",
      input: "a cat",
      dimensions: 128,
    });
    const [cut = []] = (short.last as Embeddings).embeddings; // The shape of embed.
    expect(cut).toHaveLength(128);
    expect(lengthOf(cut)).toBeCloseTo(1, 5);
    expect(likeness(cut, embeddings[0]?.slice(0, 128))).toBeCloseTo(1, 5);
    expect(server.logRecords().at(-1)).toMatchObject({
      model: "minilm:latest",
      promptTokens: expect.any(Number),
    });
    const old = await sendRequest(server, "/api/embeddings", { model: "minilm", prompt: "a cat" });
    const { embedding } = old.last as { embedding: number[] }; // The shape of embeddings.
    expect(Object.keys(old.last)).toEqual(["embedding"]);
    expect(likeness(embedding, embeddings[0])).toBeCloseTo(1, 5);
  }, 60_000);

  test("without input returns an empty list and loads the model", async () => {
    await using server = await startTestServer({ models: { minilm } });
    for (const input of ["", [], null]) {
      const { last } = await sendRequest(server, "/api/embed", { model: "minilm", input });
      expect(last["embeddings"]).toEqual([]);
    }
    expect(server.scheduler.running()).toHaveLength(1);
    const old = await sendRequest(server, "/api/embeddings", { model: "minilm", prompt: "" });
    expect(old.last).toEqual({ embedding: [] });
  }, 60_000);

  test("truncates a text that is too long, or rejects it if truncation is off", async () => {
    await using server = await startTestServer({ models: { minilm } });
    const input = "word ".repeat(2000);
    const truncated = await sendRequest(server, "/api/embed", { model: "minilm", input });
    expect(truncated.status, JSON.stringify(truncated.last).slice(0, 200)).toBe(200);
    const rejected = await sendRequest(server, "/api/embed", { model: "minilm", input, truncate: false });
    expect(rejected.status).toBe(400);
    expect(rejected.last).toEqual({
      error: "the input length exceeds the context length",
      code: "prompt-too-long",
      prompt_tokens: expect.any(Number),
      context_tokens: 512,
    });
  }, 60_000);

  test("returns vectors for a text model too", async () => {
    await using server = await startTestServer({ models: { smol } });
    const { last } = await sendRequest(server, "/api/embed", { model: "smol", input: ["a", "b"] });
    expect((last as Embeddings).embeddings.map((vector) => vector.length)).toEqual([576, 576]); // The shape of embed.
  }, 60_000);

  test("rejects token ids", async () => {
    await using server = await startTestServer({ models: { minilm } });
    const rejected = await sendRequest(server, "/api/embed", { model: "minilm", input: [1, 2] });
    expect(rejected.status).toBe(400);
    expect(rejected.last["error"]).toContain("input");
  });
});
