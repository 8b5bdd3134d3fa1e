import { expect, test } from "vitest";
import { createReasoningSeal } from "./reasoning-seal.ts";

test("sealed text opens for its own key, and twice the same text looks different", () => {
  const { seal, open } = createReasoningSeal();
  expect(open("a", seal("a", "Grüße 日"))).toBe("Grüße 日");
  expect(open("a", seal("a", ""))).toBe("");
  expect(seal("a", "x")).not.toBe(seal("a", "x"));
});

test("text sealed for another key, by another process or by another vendor does not open", () => {
  const { seal, open } = createReasoningSeal();
  const sealed = seal("a", "x");
  expect(open("b", sealed)).toBeUndefined();
  expect(createReasoningSeal().open("a", sealed)).toBeUndefined();
  for (const foreign of [
    "",
    "hearth1.",
    "hearth1.AAAA",
    "gAAAAABo",
    `${sealed.slice(0, -2)}AA`,
    sealed.slice(8),
  ]) {
    expect(open("a", foreign)).toBeUndefined();
  }
});
