import { expect, test } from "vitest";
import { diffLines } from "./line-diff.ts";

const said = (before: string, after: string): string[] =>
  diffLines(before, after).map(({ kind, text }) => `${{ same: " ", removed: "-", added: "+" }[kind]}${text}`);

test("equal texts have no difference", () => {
  expect(said("a\nb", "a\nb")).toEqual([" a", " b"]);
});

test("a changed line is taken out and put in, the others stay", () => {
  expect(said("host=a\nport=1\nuser=x", "host=a\nport=2\nuser=x")).toEqual([
    " host=a",
    "-port=1",
    "+port=2",
    " user=x",
  ]);
});

test("lines put in and taken out in several places are found apart", () => {
  expect(said("1\n2\n3\n4\n5", "0\n1\n3\n4\n4b\n5")).toEqual(["+0", " 1", "-2", " 3", " 4", "+4b", " 5"]);
});

test("putting the kept and added lines together gives the new text, and the kept and removed the old one", () => {
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

test("texts too long to compare are shown whole", () => {
  const before = Array.from({ length: 3000 }, (_, line) => `one ${line}`).join("\n");
  const after = Array.from({ length: 3000 }, (_, line) => `other ${line}`).join("\n");
  expect(diffLines(before, after)).toHaveLength(6000);
});
