import type { Engine, EngineRequest } from "@hearth-and-keep/engine";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { greedy, loadSmolLm, never, storyPrompts } from "./engine-under-test.ts";
import { sized } from "./rounds.ts";

async function textOf(engine: Engine, request: EngineRequest): Promise<string> {
  let text = "";
  for await (const event of engine.generate(request, never))
    if (event.type === "text-delta") text += event.text;
  return text;
}

test("the same request and seed give the same text, alone and among seven others", {
  timeout: 300_000,
}, async () => {
  await using engine = await loadSmolLm();
  const prompts = storyPrompts(8);
  let partition = 0;
  const requestFor = (prompt: string) => {
    partition += 1;
    const { sampling } = greedy(prompt);
    return greedy(prompt, {
      maxTokens: sized(32, 12),
      cachePartition: `${partition}`,
      sampling: { ...sampling, temperature: 0.7, topP: 0.9, seed: 42 },
    });
  };
  const alone: string[] = [];
  for (const prompt of prompts) alone.push(await textOf(engine, requestFor(prompt)));
  const again: string[] = [];
  for (const prompt of prompts) again.push(await textOf(engine, requestFor(prompt)));
  const together = await Promise.all(prompts.map((prompt) => textOf(engine, requestFor(prompt))));
  const equal = together.filter((text, index) => text === alone[index]).length;
  expect(again).toEqual(alone);
  recordFigure({
    claim: "engine 14",
    text: `8 of 8 texts equal when repeated alone, ${equal} of 8 equal among seven others (the rest drifts with the batch, see docs/decisions)`,
    counted: { reached: again.filter((text, index) => text === alone[index]).length, needed: 8 },
  });
});
