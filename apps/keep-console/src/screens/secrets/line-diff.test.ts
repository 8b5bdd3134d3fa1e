import { expect, test } from "vitest";
import { diffLines } from "./line-diff.ts";

const format = (before: string, after: string): string[] =>
  diffLines(before, after).map(({ kind, text }) => `${{ same: " ", removed: "-", added: "+" }[kind]}${text}`);

test("equal texts have no differences", () => {
  expect(format("a\nb", "a\nb")).toEqual([" a", " b"]);
});

test("a changed line is removed and added, the others stay", () => {
  expect(format("host=a\nport=1\nuser=x", "host=a\nport=2\nuser=x")).toEqual([
    " host=a",
    "-port=1",
    "+port=2",
    " user=x",
  ]);
});

test("separate insertions and removals are found separately", () => {
  expect(format("1\n2\n3\n4\n5", "0\n1\n3\n4\n4b\n5")).toEqual(["+0", " 1", "-2", " 3", " 4", "+4b", " 5"]);
});

test("same and added lines give the new text, same and removed lines the old one", () => {
  const texts = ["", "a", "a\n", "\na", "a\nb\na\nb", "b\na\nb", "x\ny\nz", "z\ny\nx"];
  for (const before of texts) {
    for (const after of texts) {
      const found = diffLines(before, after);
      const without = (kind: string) => found.filter((line) => line.kind !== kind).map(({ text }) => text);
      expect(without("removed").join("\n")).toBe(after);
      expect(without("added").join("\n")).toBe(before);
    }
  }
});

test("texts too long to compare are shown as fully removed and added", () => {
  const before = Array.from({ length: 3000 }, (_, line) => `one ${line}`).join("\n");
  const after = Array.from({ length: 3000 }, (_, line) => `other ${line}`).join("\n");
  expect(diffLines(before, after)).toHaveLength(6000);
});
