import { expect } from "vitest";
import type { EngineRequest } from "../engine.ts";
import { greedySampling } from "../fake-engine/greedy-sampling.ts";
import { type DriverRule, never, request } from "./driver-fixture.ts";

function sampled(seed: number): EngineRequest {
  return request("Tell me", { sampling: { ...greedySampling, temperature: 1, seed } });
}

/** Token id in the tiny model's vocabulary. */
const startOfTurn = 1004;

function forcing(token: number): Pick<EngineRequest, "sampling"> {
  return { sampling: { ...greedySampling, logitBias: new Map([[token, 1000]]) } };
}

/** Events, token counts, the prompt cache, end reasons and cancellation. */
export const generationRules: readonly DriverRule[] = [
  {
    name: "events come in order: prompt progress, text, one end",
    async verify({ run }) {
      const { events, end } = await run(request("In order"));
      const types = events.map(({ type }) => type);
      expect(types.slice(0, 1)).toEqual(["prompt-progress"]);
      expect(types.filter((type) => type === "generation-end")).toEqual(["generation-end"]);
      expect(types.lastIndexOf("prompt-progress")).toBeLessThan(types.indexOf("text-delta"));
      const counts = events.flatMap((event) =>
        event.type === "text-delta" ? [event.outputTokens ?? 0] : [],
      );
      expect(counts).toEqual(counts.toSorted((a, b) => a - b));
      expect(counts.at(-1)).toBe(16);
      expect(end.timings.promptMilliseconds).toBeGreaterThan(0);
      expect(end.timings.outputMilliseconds).toBeGreaterThan(0);
    },
  },
  {
    name: "output that reaches its token limit ends with length and a token count",
    async verify({ run, engine }) {
      const { text, end } = await run(request("Once upon a time"));
      expect(text).not.toBe("");
      expect(end).toMatchObject({ reason: "length", usage: { outputTokens: 16, cachedTokens: 0 } });
      expect(end.usage.promptTokens).toBe((await engine.tokenize("Once upon a time")).length);
    },
  },
  {
    name: "output that the model ends itself ends with stop, without the end token",
    async verify({ run }) {
      const constraint = { type: "gbnf", grammar: 'root ::= "ab"' } as const;
      const { text, end, events } = await run(request("End", { constraint, logProbabilities: 1 }));
      expect({ text, reason: end.reason }).toEqual({ text: "ab", reason: "stop" });
      const tokens = events.flatMap((event) => (event.type === "text-delta" ? (event.tokens ?? []) : []));
      expect(tokens.map((token) => token.text).join("")).toBe("ab");
      expect(end.usage.outputTokens).toBe(tokens.length);
    },
  },
  {
    name: "special tokens that the model writes appear in the text",
    async verify({ run }) {
      const { text } = await run(request("Mark", { ...forcing(startOfTurn), maxTokens: 3 }));
      expect(text).toBe("<|im_start|>".repeat(3));
    },
  },
  {
    name: "characters spanning several tokens arrive complete",
    async verify({ run }) {
      const constraint = { type: "gbnf", grammar: 'root ::= "é€😀ü"' } as const;
      const { text, events } = await run(request("Say", { constraint, maxTokens: 32 }));
      expect(text).toBe("é€😀ü");
      const chunks = events.flatMap((event) => (event.type === "text-delta" ? [event.text] : []));
      expect(chunks.filter((chunk) => chunk.includes("\uFFFD"))).toEqual([]);
    },
  },
  {
    name: "the same request and seed produce the same text, another seed different text",
    async verify({ run }) {
      const first = await run(sampled(7));
      expect((await run(sampled(7))).text).toBe(first.text);
      expect((await run(sampled(8))).text).not.toBe(first.text);
    },
  },
  {
    name: "a second request with the same prefix finds it in the cache",
    async verify({ run }) {
      const prefix = "A long beginning that two requests share. ".repeat(8);
      const first = await run(request(`${prefix}One`));
      const second = await run(request(`${prefix}Two`));
      expect(second.end.usage.cachedTokens).toBeGreaterThan(first.end.usage.promptTokens / 2);
    },
  },
  {
    name: "one partition never uses what another left in the cache",
    async verify({ run }) {
      const secret = "The words of somebody else, long enough to be worth reusing. ".repeat(6);
      await Promise.all([1, 2].map(() => run(request(secret, { cachePartition: "theirs" }))));
      const other = await run(request(secret, { cachePartition: "mine" }));
      expect(other.end.usage.cachedTokens).toBe(0);
      const own = await run(request(secret, { cachePartition: "mine" }));
      expect(own.end.usage.cachedTokens).toBeGreaterThan(0);
    },
  },
  {
    name: "requests beyond the number of sequences wait and all finish",
    async verify({ run }) {
      const outputs = await Promise.all([1, 2, 3, 4, 5, 6, 7].map((each) => run(request(`Number ${each}`))));
      expect(outputs.map(({ end }) => end.usage.outputTokens)).toEqual([16, 16, 16, 16, 16, 16, 16]);
    },
  },
  {
    name: "a prompt that exceeds the context is rejected with both counts, a shorter one is accepted",
    async verify({ run }) {
      const words = "word ".repeat(3000);
      await expect(run(request(words))).rejects.toMatchObject({
        failure: { kind: "prompt-too-long", contextTokens: 1024 },
      });
      await expect(run(request("word ".repeat(50)))).resolves.toBeDefined();
    },
  },
  {
    name: "a full context ends with length instead of a context shift",
    async verify({ run }) {
      const { end } = await run(request("Fill it up", { maxTokens: 100_000 }));
      expect(end.reason).toBe("length");
      expect(end.usage.promptTokens + end.usage.outputTokens).toBeLessThanOrEqual(1024);
      expect(end.usage.outputTokens).toBeGreaterThan(900);
    },
  },
  {
    name: "an aborted request frees its sequence, both while generating and while queued",
    async verify({ run }) {
      for (let round = 0; round < 10; round += 1) {
        const client = new AbortController();
        const pending = [1, 2, 3].map((each) =>
          run(request(`Go on ${each}`, { maxTokens: 900 }), client.signal),
        );
        setTimeout(() => client.abort(new Error("gone")), 20);
        const results = await Promise.allSettled(pending);
        expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
      }
      // Both sequences are free again: two requests run concurrently without waiting.
      await Promise.all([1, 2].map((each) => run(request(`After ${each}`))));
    },
  },
  {
    name: "leaving the loop aborts the request",
    async verify({ run, engine }) {
      for await (const event of engine.generate(request("Go on", { maxTokens: 900 }), never)) {
        if (event.type === "text-delta") break;
      }
      const after = await Promise.all([1, 2].map((each) => run(request(`After ${each}`))));
      expect(after.map(({ end }) => end.reason)).toEqual(["length", "length"]);
    },
  },
  {
    name: "a token forbidden by its bias is never written",
    async verify({ run, engine }) {
      const unbiased = await run(request("Once upon a time"));
      const [first] = await engine.tokenize(unbiased.text);
      const sampling = { ...greedySampling, logitBias: new Map([[first ?? 0, Number.NEGATIVE_INFINITY]]) };
      const biased = await run(request("Once upon a time", { sampling }));
      expect(await engine.tokenize(biased.text)).not.toContain(first);
    },
  },
  {
    name: "every token has log-probabilities, the most likely first",
    async verify({ run }) {
      const { events } = await run(request("Once", { logProbabilities: 3 }));
      const tokens = events.flatMap((event) => (event.type === "text-delta" ? (event.tokens ?? []) : []));
      expect(tokens).toHaveLength(16);
      for (const { alternatives, logProbability, token } of tokens) {
        expect(alternatives).toHaveLength(3);
        expect(alternatives[0]?.token).toBe(token);
        expect(logProbability).toBeLessThanOrEqual(0);
      }
    },
  },
  {
    name: "zero alternatives still report the log-probability of each token",
    async verify({ run }) {
      const sampling = { ...greedySampling, temperature: 2, seed: 3 };
      const { events } = await run(request("Once", { logProbabilities: 0, sampling }));
      const tokens = events.flatMap((event) => (event.type === "text-delta" ? (event.tokens ?? []) : []));
      expect(tokens.map(({ alternatives }) => alternatives.length)).toEqual(Array(16).fill(0));
      for (const { logProbability } of tokens) expect(logProbability).toBeLessThanOrEqual(0);
    },
  },
];
