import { describe, expect, test } from "vitest";
import { minilm, smol, startTestServer } from "../../test/start-test-server.ts";
import { ask } from "./test/ask.ts";

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
  test("gives a vector of length one for each text in their order, cut to the dimensions asked for", async () => {
    await using server = await startTestServer({ models: { minilm } });
    const input = ["a cat", "a kitten", "tax law"];
    const { last } = await ask(server, "/api/embed", { model: "minilm", input });
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
    const short = await ask(server, "/api/embed", { model: "minilm", input: "a cat", dimensions: 128 });
    const [cut = []] = (short.last as Embeddings).embeddings; // The shape of embed.
    expect(cut).toHaveLength(128);
    expect(lengthOf(cut)).toBeCloseTo(1, 5);
    expect(likeness(cut, embeddings[0]?.slice(0, 128))).toBeCloseTo(1, 5);
    expect(server.logged().at(-1)).toMatchObject({
      model: "minilm:latest",
      promptTokens: expect.any(Number),
    });
    const old = await ask(server, "/api/embeddings", { model: "minilm", prompt: "a cat" });
    const { embedding } = old.last as { embedding: number[] }; // The shape of embeddings.
    expect(Object.keys(old.last)).toEqual(["embedding"]);
    expect(likeness(embedding, embeddings[0])).toBeCloseTo(1, 5);
  }, 60_000);

  test("of nothing is an empty list and loads the model", async () => {
    await using server = await startTestServer({ models: { minilm } });
    for (const input of ["", [], null]) {
      const { last } = await ask(server, "/api/embed", { model: "minilm", input });
      expect(last["embeddings"]).toEqual([]);
    }
    expect(server.scheduler.running()).toHaveLength(1);
    const old = await ask(server, "/api/embeddings", { model: "minilm", prompt: "" });
    expect(old.last).toEqual({ embedding: [] });
  }, 60_000);

  test("a text that is too long is cut, or refused when it must not be", async () => {
    await using server = await startTestServer({ models: { minilm } });
    const input = "word ".repeat(2000);
    expect((await ask(server, "/api/embed", { model: "minilm", input })).status).toBe(200);
    const refused = await ask(server, "/api/embed", { model: "minilm", input, truncate: false });
    expect(refused.status).toBe(400);
    expect(refused.last).toEqual({ error: "the input length exceeds the context length" });
  }, 60_000);

  test("a model that writes text gives vectors too", async () => {
    await using server = await startTestServer({ models: { smol } });
    const { last } = await ask(server, "/api/embed", { model: "smol", input: ["a", "b"] });
    expect((last as Embeddings).embeddings.map((vector) => vector.length)).toEqual([576, 576]); // The shape of embed.
  }, 60_000);

  test("token ids instead of texts are refused", async () => {
    await using server = await startTestServer({ models: { minilm } });
    const refused = await ask(server, "/api/embed", { model: "minilm", input: [1, 2] });
    expect(refused.status).toBe(400);
    expect(refused.last["error"]).toContain("input");
  });
});
