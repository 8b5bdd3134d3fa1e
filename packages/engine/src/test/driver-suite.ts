/**
 * @module
 * The rules that every driver of the engine port must satisfy. Each driver's own test file runs them on real weights.
 * Exported through `testing.ts`.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EngineDriver } from "../engine.ts";
import { type DriverFixture, openDriverFixture } from "./driver-fixture.ts";
import { generationRules } from "./generation-rules.ts";
import { loadingRules } from "./loading-rules.ts";
import { outputRules } from "./output-rules.ts";

export type SuiteResult = { readonly rules: number; readonly passed: () => number };

/** Registers one test per rule of the port for a driver. */
export function driverSuite(name: string, driver: () => Promise<EngineDriver>): SuiteResult {
  const rules = [...generationRules, ...outputRules, ...loadingRules];
  let passed = 0;
  describe(`${name} follows the rules of the engine port`, () => {
    let fixture: DriverFixture;
    beforeAll(async () => {
      fixture = await openDriverFixture(await driver());
    }, 900_000);
    afterAll(() => fixture.engine.unload());
    test.each(rules)("$name", async ({ verify }) => {
      await expect(verify(fixture)).resolves.toBeUndefined();
      passed += 1;
    });
  });
  return { rules: rules.length, passed: () => passed };
}
