import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { CanonicalFormError, canonicalJson } from "./canonical-json.ts";
import vectors from "./fixtures/canonical-json.json" with { type: "json" };

test("canonical JSON matches the examples and numbers of RFC 8785", () => {
  for (const { given, expected } of vectors.canonicalTexts) {
    expect(canonicalJson(JSON.parse(given))).toBe(expected);
  }
  const numbers = Object.entries(vectors.canonicalNumbers);
  for (const [hexadecimal, expected] of numbers) {
    expect(canonicalJson(Buffer.from(hexadecimal, "hex").readDoubleBE())).toBe(expected);
  }
  for (const none of [Number.NaN, Number.POSITIVE_INFINITY, "\ud800"]) {
    expect(() => canonicalJson(none)).toThrow(CanonicalFormError);
  }
  const count = vectors.canonicalTexts.length + numbers.length;
  recordFigure({ claim: "keep 16", text: `${count} vectors of canonical JSON exact` });
});
