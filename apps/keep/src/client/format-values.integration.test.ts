import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { type ClientFormat, formatValues } from "./format-values.ts";
import type { NamedValue } from "./read-values.ts";

const item = (name: string, value: string, encoding: "utf8" | "base64" = "utf8"): NamedValue => ({
  id: "0198c0de-7c1a-7f00-8000-5a1e5a1e5a1e",
  path: `/${name}`,
  name,
  version: 1,
  type: encoding === "utf8" ? "text" : "binary",
  value,
  encoding,
});

const hostile = 'it\'s $HOME `id` \\ "quoted" # ünï\u0085\u2028\n  second: line\r\nend ';
const options = { name: "app" };

test("a shell reads exactly the value, and runs nothing of it", () => {
  const script = `${formatValues([item("A", hostile)], "shell", options)}printf %s "$A"`;
  expect(spawnSync("sh", ["-c", script], { encoding: "utf8" })).toMatchObject({ status: 0, stdout: hostile });
});

test("YAML and a Kubernetes manifest contain exactly the values", () => {
  const yaml = formatValues([item("A: b", hostile)], "yaml", options);
  expect(yaml.split("\n")).toHaveLength(2);
  const [, name = "", value = ""] = /^("A: b"): (".*")\n$/u.exec(yaml) ?? [];
  // JSON's escapes mean the same in YAML.
  expect([JSON.parse(name), JSON.parse(value)]).toEqual(["A: b", hostile]);
  expect(yaml).not.toMatch(/[\u0085\u2028]/u);
  const items = [item("tls.crt", hostile), item("BIN", "AP8=", "base64")];
  expect(formatValues(items, "kubernetes", options)).toBe(
    `apiVersion: v1\nkind: Secret\nmetadata:\n  name: "app"\ntype: Opaque\ndata:\n  "tls.crt": ${Buffer.from(hostile).toString("base64")}\n  "BIN": AP8=\n`,
  );
  expect(formatValues([], "kubernetes", options)).toContain("data: {}\n");
});

test("an env-file of Docker has the value as it is", () => {
  expect(formatValues([item("A", 'it\'s # "x" ')], "docker", options)).toBe('A=it\'s # "x" \n');
});

test.each<[ClientFormat, NamedValue]>([
  ["docker", item("A", "two\nlines")],
  ["docker", item("A-B", "x")],
  ["shell", item("A;id", "x")],
  ["shell", item("A", "AP8=", "base64")],
  ["shell", item("A", "a\0b")],
  ["yaml", item("A", "AP8=", "base64")],
  ["kubernetes", item("a/b", "x")],
  ["kubernetes", item("a b", "x")],
])("%s refuses what it cannot contain: %o", (format, unusable) => {
  expect(() => formatValues([item("FINE", "x"), unusable], format, options)).toThrow(
    /usage-error|name-unusable/u,
  );
});

test("the name of a manifest is checked", () => {
  expect(() => formatValues([], "kubernetes", { name: "a\nkind: Pod" })).toThrow("usage-error");
});
