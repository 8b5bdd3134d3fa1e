/**
 * @module
 * The rules every driver of the engine port must obey, run by each driver's own test file against real weights.
 * Exported through `testing.ts`.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EngineDriver } from "../engine.ts";
import { type EngineStage, openStage } from "./driver-fixture.ts";
import { answerRules } from "./generation-rules.ts";
import { loadingRules } from "./loading-rules.ts";
import { shapeRules } from "./output-rules.ts";

export type SuiteResult = { readonly rules: number; readonly held: () => number };

/** Proves every rule of the port on a driver; the tests run when the suite's file does. */
export function engineSuite(name: string, driver: () => Promise<EngineDriver>): SuiteResult {
  const rules = [...answerRules, ...shapeRules, ...loadingRules];
  let held = 0;
  describe(`${name} keeps the rules of the port`, () => {
    let stage: EngineStage;
    beforeAll(async () => {
      stage = await openStage(await driver());
    }, 900_000);
    afterAll(() => stage.engine.unload());
    test.each(rules)("$name", async ({ prove }) => {
      await expect(prove(stage)).resolves.toBeUndefined();
      held += 1;
    });
  });
  return { rules: rules.length, held: () => held };
}
