import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { findMissingTests } from "../find-missing-tests.ts";
import findings from "./findings.json" with { type: "json" };

/** What broke popular clients, in the order of the review that found it. */
const ids = Array.from({ length: 14 }, (_none, index) => index + 1);

test("everything that broke popular clients is listed once, and each test that its symptom names exists", async () => {
  expect(findings.map(({ finding }) => finding)).toEqual(ids);
  expect(await findMissingTests(findings)).toEqual([]);
  const proven = findings.filter(({ tests }) => tests.length > 0);
  const named = proven.flatMap(({ tests }) => tests);
  recordFigure({
    claim: "agents 2",
    text: `${proven.length} of ${ids.length} findings about popular clients have tests named by their symptom, ${named.length} in all`,
    counted: { reached: proven.length, needed: ids.length },
  });
});
