import { expect, test } from "vitest";
import { compareWithBinding } from "./port-against-binding.ts";
import { lowerBound } from "./rounds.ts";

test("eight streams through the engine port are as fast as the bare binding with eight sequences", {
  timeout: 300_000,
}, async () => {
  expect(await compareWithBinding(8, "engine 2")).toBeGreaterThanOrEqual(lowerBound(0.95));
});
