import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { limitOfPlan } from "./estimate-memory.ts";

test("a model that sees may take memory for the images of every request beside it", async () => {
  const modelPath = await testModel("tiny-llama.gguf");
  const projectorPath = await testModel("tiny-projector.gguf");
  const plan = { modelPath, contextTokens: 1024, sequences: 4, purpose: "generate" } as const;
  const machineBytes = 1024 ** 4;
  const blind = await limitOfPlan(plan, machineBytes);
  const seeing = await limitOfPlan({ ...plan, projectorPath }, machineBytes);
  expect(seeing - blind).toBeGreaterThan(4 * 512 * 1024 ** 2);
  expect(await limitOfPlan({ ...plan, projectorPath }, 4 * 1024 ** 3)).toBeLessThan(4 * 1024 ** 3);
});
