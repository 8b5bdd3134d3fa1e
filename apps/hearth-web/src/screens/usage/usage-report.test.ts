import { expect, test } from "vitest";
import {
  groupUsage,
  sortGroups,
  sumUsage,
  totalTokens,
  type UsageGroup,
  type UsageRow,
} from "./usage-report.ts";

function row(changes: Partial<UsageRow>): UsageRow {
  return {
    start: "2026-11-18T00:00:00Z",
    key: "alice",
    model: "smol",
    where: "local",
    requests: 1,
    failed: 0,
    input_tokens: 100,
    cached_tokens: 40,
    output_tokens: 10,
    queue_seconds: 0,
    first_token_seconds: 1,
    ...changes,
  };
}

test("tokens are divided into input that was not cached, cached input and output", () => {
  const sum = sumUsage([row({}), row({ input_tokens: 7, cached_tokens: 0, output_tokens: 5 })]);
  expect(sum).toMatchObject({ requests: 2, input: 107, uncachedInput: 67, cachedInput: 40, output: 15 });
  expect(totalTokens(sum)).toBe(122);
});

test("more cached than input tokens are no negative input", () => {
  expect(sumUsage([row({ input_tokens: 1, cached_tokens: 5 })]).uncachedInput).toBe(0);
});

test("the mean of means counts every request once", () => {
  const sum = sumUsage([row({ requests: 3, queue_seconds: 1 }), row({ requests: 1, queue_seconds: 5 })]);
  expect(sum.queueSeconds).toBe(2);
});

test("requests that failed do not count for the time to the first token", () => {
  const answered = row({ requests: 1, first_token_seconds: 0.5 });
  const failed = row({ requests: 9, failed: 9, first_token_seconds: 7 });
  expect(sumUsage([answered, failed]).firstTokenSeconds).toBe(0.5);
  expect(sumUsage([failed])).toMatchObject({ queueSeconds: 0, firstTokenSeconds: undefined });
  expect(sumUsage([])).toMatchObject({ requests: 0, queueSeconds: undefined });
});

function summarize(groups: readonly UsageGroup[]): readonly unknown[] {
  return groups.map(({ name, requests, locations }) => [name, requests, locations]);
}

test("embeddings have no first token and do not lower its mean", () => {
  const chats = row({ requests: 1, first_token_seconds: 0.5 });
  const embeddings = row({ requests: 9, first_token_seconds: 0 });
  expect(sumUsage([chats, embeddings]).firstTokenSeconds).toBe(0.5);
  expect(sumUsage([embeddings]).firstTokenSeconds).toBeUndefined();
});

test("rows are grouped by key or by model, and a model names every location it ran at once", () => {
  const rows = [row({}), row({ key: "bob", where: "remote" }), row({ key: "bob", where: "remote" })];
  expect(summarize(groupUsage(rows, "key"))).toEqual([
    ["alice", 1, ["local"]],
    ["bob", 2, ["remote"]],
  ]);
  expect(summarize(groupUsage(rows, "model"))).toEqual([["smol", 3, ["local", "remote"]]]);
  expect(groupUsage([row({ key: "__proto__" }), row({ key: "" })], "key").map(({ name }) => name)).toEqual([
    "__proto__",
    "",
  ]);
});

test("groups are sorted by any column in both directions, and by name where they are equal", () => {
  const groups = groupUsage(
    [row({ key: "b", requests: 2 }), row({ key: "c", requests: 3 }), row({ key: "a", requests: 2 })],
    "key",
  );
  const names = (column: "name" | "requests", isDescending: boolean) =>
    sortGroups(groups, { column, isDescending })
      .map(({ name }) => name)
      .join("");
  expect([names("requests", true), names("requests", false)]).toEqual(["cab", "abc"]);
  expect([names("name", true), names("name", false)]).toEqual(["cba", "abc"]);
});

test("a group without a value is the last in both directions", () => {
  const groups = groupUsage(
    [row({ key: "failed", failed: 1 }), row({ key: "slow", first_token_seconds: 2 }), row({ key: "fast" })],
    "key",
  );
  const names = (isDescending: boolean) =>
    sortGroups(groups, { column: "firstTokenSeconds", isDescending }).map(({ name }) => name);
  expect(names(false)).toEqual(["fast", "slow", "failed"]);
  expect(names(true)).toEqual(["slow", "fast", "failed"]);
});
