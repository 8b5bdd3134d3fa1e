import OpenAI from "openai";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import { expect, test } from "vitest";
import { smol, startTestServer } from "../../../test/start-test-server.ts";

const model = "smol";
const input: ResponseInputItem[] = [
  { role: "user", content: "My boat is called Aurora, and it is 12 metres long." },
  { type: "message", role: "assistant", content: "Aurora is a beautiful name for a boat of 12 metres." },
  { role: "user", content: "The harbour of Bergen charges 40 crowns per metre and night." },
  { type: "message", role: "assistant", content: "Then a night in Bergen costs 480 crowns for Aurora." },
];
const question: ResponseInputItem = { role: "user", content: "How much is a night in Bergen?" };

test("real weights write a summary, and read it in the next request", { timeout: 300_000 }, async () => {
  await using server = await startTestServer({
    models: { [model]: smol },
    // Bounds the length of the summary.
    limits: { contextTokens: 448 },
  });
  const { responses } = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "any", maxRetries: 0 });
  const { output, usage } = await responses.compact({ model, input });
  expect(output.map(({ type }) => type)).toEqual(["message", "message", "compaction"]);
  expect(usage.input_tokens).toBeGreaterThan(100);
  expect(usage.output_tokens).toBeGreaterThan(0);
  // Output items are input items, but not of the same type in the client.
  const kept = output as ResponseInputItem[];
  const count = async (items: ResponseInputItem[]): Promise<number> =>
    (await responses.inputTokens.count({ model, input: [...items, question] })).input_tokens;
  const summaryTokens = (await count(kept)) - (await count(kept.slice(0, -1)));
  expect(summaryTokens).toBeGreaterThanOrEqual(usage.output_tokens - 5);
  const next = await responses.create({ model, input: [...kept, question], max_output_tokens: 8 });
  expect(next.output_text.length).toBeGreaterThan(0);
});
