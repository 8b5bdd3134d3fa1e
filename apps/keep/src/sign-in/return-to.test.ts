import { expect, test } from "vitest";
import { safeReturnTo } from "./return-to.ts";

const publicUrl = new URL("https://keep.example");

test.each(["/", "/secrets", "/secrets/vaults?path=%2Fprod&q=a", "/account"])(
  "the local path %s is kept",
  (path) => {
    expect(safeReturnTo(path, publicUrl)).toBe(path);
  },
);

test.each([
  "//elsewhere.example",
  "///elsewhere.example",
  "/\\elsewhere.example",
  "\\\\elsewhere.example",
  "/%2f%2felsewhere.example/..",
  "/%09/elsewhere.example",
  "/\t/elsewhere.example",
  "/\r\nset-cookie: session=x",
  "/a\r\nlocation: https://elsewhere.example",
  "https://elsewhere.example",
  "https:elsewhere.example",
  "javascript:alert(1)",
  "/../..//elsewhere.example",
  "/a/..//elsewhere.example",
  "/.//elsewhere.example",
  "/@elsewhere.example",
  "/。elsewhere.example",
  "/⁄elsewhere.example",
  "elsewhere.example",
  "",
  `/${"a".repeat(600)}`,
  "/a#//elsewhere.example",
  undefined,
  ["/a", "/b"],
  7,
])("%j is not a safe local path and is replaced by /", (requested) => {
  expect(safeReturnTo(requested, publicUrl)).toBe("/");
});
