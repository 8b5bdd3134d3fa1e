import { driverSuite } from "@hearth-and-keep/engine/testing";
import { recordFigure } from "@hearth-and-keep/figures";
import { preparePython } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createLlamaServerDriver } from "./llama-server-driver.ts";

const suite = driverSuite("llama.cpp's own server", async () => {
  const { interpreter } = await preparePython();
  return createLlamaServerDriver({ program: { kind: "xllamacpp", interpreter } });
});

/** Observable differences from the binding; decision record 0020 explains each of them. */
const differences = [
  "typical_p is supported",
  "a bias can end the output",
  "no log-probabilities inside an incomplete character",
  "output that is cut inside a character ends before it",
  "load progress is 0, then 1",
  "threads are chosen once",
] as const;

test("every rule of the binding's suite holds", () => {
  recordFigure({
    claim: "engines 1",
    text: `${suite.passed()} of ${suite.rules} rules of the binding's suite hold; ${differences.length} differences in addition: ${differences.join(", ")}`,
    counted: { reached: suite.passed(), needed: suite.rules },
  });
  expect(suite.passed()).toBe(suite.rules);
});
