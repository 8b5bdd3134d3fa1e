import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { memoryLimitForPlan } from "./estimate-memory.ts";

test("a vision model may use memory for the images of every concurrent request", async () => {
  const modelPath = await testModel("tiny-llama.gguf");
  const projectorPath = await testModel("tiny-projector.gguf");
  const plan = { modelPath, contextTokens: 1024, sequences: 4, purpose: "generate" } as const;
  const machineBytes = 1024 ** 4;
  const textOnly = await memoryLimitForPlan(plan, machineBytes);
  const withVision = await memoryLimitForPlan({ ...plan, projectorPath }, machineBytes);
  expect(withVision - textOnly).toBeGreaterThan(4 * 512 * 1024 ** 2);
  expect(await memoryLimitForPlan({ ...plan, projectorPath }, 4 * 1024 ** 3)).toBeLessThan(4 * 1024 ** 3);
});
