import { expect, test } from "vitest";
import type { Change } from "./compare-versions.ts";
import { formatChange } from "./format-change.ts";

const plain = { style: (_format: string, text: string) => text };
const text = (value: string) => ({ value, encoding: "utf8" }) as const;
const format = (change: Change) => formatChange(change, plain);

test("removed, kept and added lines are shown in order, the older value first", () => {
  expect(format({ left: text("a\nb\nc"), right: text("a\nx\nc") })).toEqual([
    "    a",
    "  - b",
    "  + x",
    "    c",
  ]);
  expect(format({ left: text("old"), right: undefined })).toEqual(["  - old"]);
  expect(format({ left: undefined, right: text("new") })).toEqual(["  + new"]);
});

test("control characters of a value do not reach the terminal, and bytes are shown in base64", () => {
  expect(format({ left: text("a\u001B[2J"), right: { value: "AAE=", encoding: "base64" } }).join("\n")).toBe(
    "  - a␛[2J\n  + base64:AAE=",
  );
});

function many(end: string) {
  return text(Array.from({ length: 20_000 }, (_, line) => `${line}${end}`).join("\n"));
}

test("long values are shown without finding their common lines, which takes quadratic time", () => {
  const startedAt = performance.now();
  expect(format({ left: many("a"), right: many("b") })).toHaveLength(40_000);
  expect(performance.now() - startedAt).toBeLessThan(2000);
});
