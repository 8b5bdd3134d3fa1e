import type { EgressRule, ValueUse } from "@hearth-and-keep/vault-contract";
import { expect, test } from "vitest";
import { findObjection, formatEgressRule, parseEgressRule } from "./egress-rule.ts";

const rule = {
  hosts: ["api.example"],
  methods: ["GET"],
  paths: ["/repos/**", "/user"],
  ask: false,
} satisfies EgressRule;
const use: ValueUse = { host: "api.example", method: "GET", path: "/repos/one" };

test.each<[string, Partial<ValueUse>, boolean]>([
  ["a request that the rule names", {}, true],
  ["another path that it names", { path: "/user" }, true],
  ["an encoded slash below a pattern", { path: "/repos/group%2Fname" }, true],
  ["another host", { host: "api.example.attacker.example" }, false],
  ["another port", { host: "api.example:8443" }, false],
  ["another method", { method: "DELETE" }, false],
  ["another path", { path: "/users" }, false],
  ["a path above a pattern", { path: "/repos" }, false],
  ["a parent folder", { path: "/repos/../admin" }, false],
  ["an encoded one", { path: "/repos/%2e%2E/admin" }, false],
  ["one with an encoded slash", { path: "/repos/..%2fadmin" }, false],
  ["one that is encoded twice", { path: "/repos/%252e%252e/admin" }, false],
  ["one with a parameter", { path: "/repos/..;x/admin" }, false],
  ["a path that cannot be decoded", { path: "/repos/%ff" }, false],
])("%s", (_name, changes, isAllowed) => {
  expect(findObjection(rule, { ...use, ...changes }) === undefined).toBe(isAllowed);
});

test("a rule of hosts allows every method and path, and a secret without a rule nothing", () => {
  const hostsOnly = { hosts: ["api.example"], ask: true };
  expect(findObjection(hostsOnly, { ...use, method: "DELETE", path: "/" })).toBeUndefined();
  expect(findObjection(undefined, use)).toBe("The secret has no egress rule");
});

test("the same rule is stored as the same text", () => {
  const { hosts, methods, paths, ask } = rule;
  const text = formatEgressRule({ ask, paths, methods, hosts });
  expect(text).toBe(formatEgressRule(rule));
  expect(parseEgressRule(text ?? "")).toEqual(rule);
});
