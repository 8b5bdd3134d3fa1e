import { expect, test } from "vitest";
import { readEvidenceGroups, readTeamGroups } from "./read-groups.ts";

test.each([
  ["a list", { groups: ["a", "b"] }, ["a", "b"]],
  ["an empty list", { groups: [] }, []],
  ["one group as text", { groups: "a" }, ["a"]],
  ["no claim", {}, []],
  ["another claim only", { roles: ["a"] }, []],
  ["a list, and references to other claims", { groups: ["a"], _claim_names: { roles: "src1" } }, ["a"]],
  ["a list, and that there are groups", { groups: ["a"], hasgroups: true }, ["a"]],
  ["references to groups that are elsewhere", { _claim_names: { groups: "src1" } }, "too-many-groups"],
  ["a part of the groups", { groups: ["a"], _claim_names: { groups: "src1" } }, "too-many-groups"],
  ["that there are groups, and no list", { hasgroups: true }, "too-many-groups"],
  ["that there are none, and no list", { hasgroups: false }, []],
  ["a list with a number", { groups: ["a", 1] }, "unreadable-groups"],
  ["a list with an object", { groups: [{ name: "a" }] }, "unreadable-groups"],
  ["a list with null", { groups: [null] }, "unreadable-groups"],
  ["a list in a list", { groups: [["a"]] }, "unreadable-groups"],
  ["an object", { groups: { 0: "a" } }, "unreadable-groups"],
  ["a number", { groups: 1 }, "unreadable-groups"],
  ["null", { groups: null }, "unreadable-groups"],
])("for teams, a token with %s is read as it is", (_name, claims, groups) => {
  expect(readTeamGroups(claims, "groups")).toEqual(groups);
});

test("inherited properties are no claims", () => {
  expect(readTeamGroups({}, "toString")).toEqual([]);
  expect(readTeamGroups({ _claim_names: {} }, "toString")).toEqual([]);
  expect(readTeamGroups({ toString: ["a"] }, "toString")).toEqual(["a"]);
});

test.each([
  ["a list", { groups: ["a", 1] }, ["a"]],
  ["text", { groups: "a" }, ["a"]],
  ["no claim", {}, "missing"],
  ["references to groups that are elsewhere", { _claim_names: { groups: "src1" } }, "missing"],
])("for rules, a token with %s is read", (_name, claims, groups) => {
  expect(readEvidenceGroups(claims, "groups")).toEqual(groups);
});
