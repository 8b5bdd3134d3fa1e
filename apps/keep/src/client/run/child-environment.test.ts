import { expect, test } from "vitest";
import type { NamedValue } from "../read-values.ts";
import { createChildEnvironment, findMissing, selectItems } from "./child-environment.ts";

const item = (name: string, value: string, encoding: "utf8" | "base64" = "utf8"): NamedValue => ({
  id: "0198c0de-7c1a-7f00-8000-5a1e5a1e5a1e",
  path: `/${name}`,
  name,
  version: 1,
  type: encoding === "utf8" ? "text" : "binary",
  value,
  encoding,
});

test("secrets win over the environment, which is passed on otherwise", () => {
  const { variables } = createChildEnvironment([item("A", "secret")], { A: "old", B: "kept" });
  expect(variables).toEqual({ A: "secret", B: "kept" });
});

test("a selection passes only its names, with a prefix, and requires them", () => {
  const items = [item("A", "1"), item("B", "2")];
  const selection = { only: ["A"], required: ["B"], prefix: "TF_VAR_" };
  expect(createChildEnvironment(selectItems(items, selection), {}).variables).toEqual({ TF_VAR_A: "1" });
  expect(findMissing(items, selection)).toEqual([]);
  expect(findMissing(items, { ...selection, only: ["A", "C"], required: ["C", "D"] })).toEqual(["C", "D"]);
});

test("what cannot be an environment variable is skipped by name", () => {
  const items = [
    item("A", "1"),
    item("tls.crt", "2"),
    item("1A", "3"),
    item("BIN", "AAAA", "base64"),
    item("NUL", "a\0b"),
  ];
  const { variables, skipped, values } = createChildEnvironment(items, {});
  expect(variables).toEqual({ A: "1" });
  expect(values).toEqual(["1"]);
  expect(skipped).toEqual(["tls.crt", "1A", "BIN", "NUL"]);
});
