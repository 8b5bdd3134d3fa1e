import { expect, test } from "vitest";
import { compareWithBinding } from "./port-against-binding.ts";
import { lowerBound } from "./rounds.ts";

test("one stream through the engine port is as fast as a bare loop over the binding", {
  timeout: 300_000,
}, async () => {
  expect(await compareWithBinding(1, "engine 1")).toBeGreaterThanOrEqual(lowerBound(0.97));
});
