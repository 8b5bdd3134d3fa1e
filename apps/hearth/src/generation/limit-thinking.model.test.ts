import type { Engine, EngineEvent, EngineRequest } from "@hearth-and-keep/engine";
import { recordFigure } from "@hearth-and-keep/figures";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OutputEvent } from "./events.ts";
import { generate } from "./generate.ts";
import type { ResolvedRequest } from "./request.ts";
import { resolveSampling } from "./sampling.ts";
import { loadSmol } from "./test/load-smol.ts";

const never = new AbortController().signal;
let smol: Engine;
beforeAll(async () => {
  smol = await loadSmol();
}, 300_000);
afterAll(() => smol.unload());

const question = { role: "user", content: "Tell me a long story about a river and a bridge." } as const;

type EngineRun = { readonly request: EngineRequest; readonly events: EngineEvent[] };

/** The same weights behind a template with thinking, which the start of the turn opens. */
function createThinker(runs: EngineRun[]): Engine {
  return {
    ...smol,
    describe: () => ({ ...smol.describe(), chatTemplate: "<think></think>" }),
    async *generate(request, signal) {
      const events: EngineEvent[] = [];
      runs.push({ request, events });
      for await (const event of smol.generate(request, signal)) {
        events.push(event);
        yield event;
      }
    },
  };
}

function thinkingRequest(tokens: number, seed: number): ResolvedRequest {
  const messages = [question, { role: "assistant", content: "<think>\n" }] as const;
  return {
    ...resolveSampling({ temperature: 0.7, seed, maxTokens: 96 }, {}),
    toolChoice: { type: "auto" },
    cachePartition: "",
    input: { type: "conversation", conversation: { messages, thinking: true } },
    reasoningLimit: { tokens, field: "budget" },
  };
}

const textOf = (events: readonly OutputEvent[], type: "reasoning-delta" | "text-delta"): string =>
  events.map((event) => (event.type === type ? event.text : "")).join("");

/** Tokens that the engine sends in one chunk, and what differs if text is tokenized on its own. */
const slack = 8;

test("on real weights thinking ends at its limit, and the response follows from the cached prompt", async () => {
  const limits = [8, 24, 48];
  const shares: number[] = [];
  for (const tokens of limits) {
    const runs: EngineRun[] = [];
    const events = await Array.fromAsync(generate(createThinker(runs), thinkingRequest(tokens, 1), never));
    const end = events.at(-1);
    if (end?.type !== "generation-end") throw new Error("The generation has no end");
    expect(runs).toHaveLength(2);
    expect(end.usage.reasoningTokens).toBeGreaterThan(tokens / 2);
    expect(end.usage.reasoningTokens).toBeLessThanOrEqual(tokens + slack);
    expect(end.usage.outputTokens).toBeLessThanOrEqual(96);
    expect(textOf(events, "reasoning-delta")).not.toContain("<");
    expect(textOf(events, "text-delta").trim()).not.toBe("");
    const progress = runs[1]?.events.find((event) => event.type === "prompt-progress");
    shares.push((progress?.cached ?? 0) / (progress?.total ?? 1));
  }
  // Only the end of thinking is new, and the last token before it may be another one.
  expect(Math.min(...shares)).toBeGreaterThan(0.5);
  recordFigure({
    claim: "agents 3",
    text:
      `${shares.length} of ${limits.length} thinking budgets on SmolLM2 ended thinking within ${slack} tokens, ` +
      `and the response followed with at least ${Math.round(Math.min(...shares) * 100)} % of its prompt cached`,
    counted: { reached: shares.length, needed: limits.length },
  });
});
