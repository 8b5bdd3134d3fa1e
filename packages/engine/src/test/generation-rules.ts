import { expect } from "vitest";
import type { GenerateRequest } from "../engine.ts";
import { greedySampling } from "../fake-engine/greedy-sampling.ts";
import { type EngineRule, never, request } from "./driver-fixture.ts";

function warm(seed: number): GenerateRequest {
  return request("Tell me", { sampling: { ...greedySampling, temperature: 1, seed } });
}

/** Of the tiny model's vocabulary. */
const startOfTurn = 1004;

function forcing(token: number): Pick<GenerateRequest, "sampling"> {
  return { sampling: { ...greedySampling, logitBias: new Map([[token, 1000]]) } };
}

/** How answers come: their events, counts, cache, ends and hang-ups. */
export const answerRules: readonly EngineRule[] = [
  {
    name: "events come in order: how much of the prompt is read, text, one end",
    async prove({ run }) {
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
    name: "an answer ends at its limit with length, and counts its tokens",
    async prove({ run, engine }) {
      const { text, end } = await run(request("Once upon a time"));
      expect(text).not.toBe("");
      expect(end).toMatchObject({ reason: "length", usage: { outputTokens: 16, cachedTokens: 0 } });
      expect(end.usage.promptTokens).toBe((await engine.tokenize("Once upon a time")).length);
    },
  },
  {
    name: "an answer that the model ends has stop, without the token that ended it",
    async prove({ run }) {
      const constraint = { type: "gbnf", grammar: 'root ::= "ab"' } as const;
      const { text, end, events } = await run(request("End", { constraint, logProbabilities: 1 }));
      expect({ text, reason: end.reason }).toEqual({ text: "ab", reason: "stop" });
      const tokens = events.flatMap((event) => (event.type === "text-delta" ? (event.tokens ?? []) : []));
      expect(tokens.map((token) => token.text).join("")).toBe("ab");
      expect(end.usage.outputTokens).toBe(tokens.length);
    },
  },
  {
    name: "marks of the template that the model writes are in the text",
    async prove({ run }) {
      const { text } = await run(request("Mark", { ...forcing(startOfTurn), mostTokens: 3 }));
      expect(text).toBe("<|im_start|>".repeat(3));
    },
  },
  {
    name: "characters of several tokens come whole",
    async prove({ run }) {
      const constraint = { type: "gbnf", grammar: 'root ::= "é€😀ü"' } as const;
      const { text, events } = await run(request("Say", { constraint, mostTokens: 32 }));
      expect(text).toBe("é€😀ü");
      const pieces = events.flatMap((event) => (event.type === "text-delta" ? [event.text] : []));
      expect(pieces.filter((piece) => piece.includes("\uFFFD"))).toEqual([]);
    },
  },
  {
    name: "the same request and seed give the same text, another seed another",
    async prove({ run }) {
      const first = await run(warm(7));
      expect((await run(warm(7))).text).toBe(first.text);
      expect((await run(warm(8))).text).not.toBe(first.text);
    },
  },
  {
    name: "the second request with the same beginning finds it in the cache",
    async prove({ run }) {
      const beginning = "A long beginning that two requests share. ".repeat(8);
      const first = await run(request(`${beginning}One`));
      const second = await run(request(`${beginning}Two`));
      expect(second.end.usage.cachedTokens).toBeGreaterThan(first.end.usage.promptTokens / 2);
    },
  },
  {
    name: "what one partition left in the cache is never used by another",
    async prove({ run }) {
      const secret = "The words of somebody else, long enough to be worth reusing. ".repeat(6);
      await Promise.all([1, 2].map(() => run(request(secret, { cachePartition: "theirs" }))));
      const other = await run(request(secret, { cachePartition: "mine" }));
      expect(other.end.usage.cachedTokens).toBe(0);
      const own = await run(request(secret, { cachePartition: "mine" }));
      expect(own.end.usage.cachedTokens).toBeGreaterThan(0);
    },
  },
  {
    name: "more requests than sequences wait their turn and all finish",
    async prove({ run }) {
      const answers = await Promise.all([1, 2, 3, 4, 5, 6, 7].map((each) => run(request(`Number ${each}`))));
      expect(answers.map(({ end }) => end.usage.outputTokens)).toEqual([16, 16, 16, 16, 16, 16, 16]);
    },
  },
  {
    name: "a prompt over the context is refused with both counts, one under it is read",
    async prove({ run }) {
      const words = "word ".repeat(3000);
      await expect(run(request(words))).rejects.toMatchObject({
        failure: { kind: "prompt-too-long", contextTokens: 1024 },
      });
      await expect(run(request("word ".repeat(50)))).resolves.toBeDefined();
    },
  },
  {
    name: "a full context ends with length, never with a silent cut",
    async prove({ run }) {
      const { end } = await run(request("Fill it up", { mostTokens: 100_000 }));
      expect(end.reason).toBe("length");
      expect(end.usage.promptTokens + end.usage.outputTokens).toBeLessThanOrEqual(1024);
      expect(end.usage.outputTokens).toBeGreaterThan(900);
    },
  },
  {
    name: "a hang-up frees the sequence, while writing and while waiting",
    async prove({ run }) {
      for (let round = 0; round < 10; round += 1) {
        const hangUp = new AbortController();
        const pending = [1, 2, 3].map((each) =>
          run(request(`Go on ${each}`, { mostTokens: 900 }), hangUp.signal),
        );
        setTimeout(() => hangUp.abort(new Error("gone")), 20);
        const ends = await Promise.allSettled(pending);
        expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
      }
      // Both sequences are free again: two long answers run side by side without waiting.
      await Promise.all([1, 2].map((each) => run(request(`After ${each}`))));
    },
  },
  {
    name: "leaving the loop is a hang-up too",
    async prove({ run, engine }) {
      for await (const event of engine.generate(request("Go on", { mostTokens: 900 }), never)) {
        if (event.type === "text-delta") break;
      }
      const after = await Promise.all([1, 2].map((each) => run(request(`After ${each}`))));
      expect(after.map(({ end }) => end.reason)).toEqual(["length", "length"]);
    },
  },
  {
    name: "a token that is forbidden by bias is never written",
    async prove({ run, engine }) {
      const usual = await run(request("Once upon a time"));
      const [first] = await engine.tokenize(usual.text);
      const sampling = { ...greedySampling, logitBias: new Map([[first ?? 0, Number.NEGATIVE_INFINITY]]) };
      const biased = await run(request("Once upon a time", { sampling }));
      expect(await engine.tokenize(biased.text)).not.toContain(first);
    },
  },
  {
    name: "log-probabilities come with every token, the likeliest first",
    async prove({ run }) {
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
    name: "a token's own log-probability comes without alternatives when none are wanted",
    async prove({ run }) {
      const sampling = { ...greedySampling, temperature: 2, seed: 3 };
      const { events } = await run(request("Once", { logProbabilities: 0, sampling }));
      const tokens = events.flatMap((event) => (event.type === "text-delta" ? (event.tokens ?? []) : []));
      expect(tokens.map(({ alternatives }) => alternatives.length)).toEqual(Array(16).fill(0));
      for (const { logProbability } of tokens) expect(logProbability).toBeLessThanOrEqual(0);
    },
  },
];
