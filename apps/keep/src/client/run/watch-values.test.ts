import { expect, test } from "vitest";
import { clientFailure } from "../client-failure.ts";
import type { RunValues } from "./read-run-values.ts";
import { pauseAfter, watchValues } from "./watch-values.ts";

const server = "https://keep.example";
const item = {
  id: "0198c0de-7c1a-7f00-8000-5a1e5a1e5a1e",
  path: "/A",
  name: "A",
  version: 1,
  type: "text",
  encoding: "utf8",
} as const;

function valuesWith(value: string, tag: string): RunValues {
  return { values: { revision: 1, items: [{ ...item, value }] }, tag, isFromCache: false };
}

test("the server is asked less often with each failure, at most every five minutes, and never more often", () => {
  expect([0, 1, 3, 10, 1000].map((failures) => pauseAfter(failures, 10))).toEqual([10, 20, 80, 300, 300]);
  expect(pauseAfter(5, 3600)).toBe(3600);
});

test("only values that differ are reported, failures are passed over, and a refusal ends the watch", async () => {
  const problem = { status: 401, title: "Unauthorized", code: "unauthenticated" };
  const replies = [
    undefined,
    valuesWith("one", "second tag"),
    clientFailure({ kind: "server-unreachable", server, reason: "connection refused" }),
    valuesWith("two", "third tag"),
    clientFailure({ kind: "problem", server, problem, subject: undefined }),
    valuesWith("three", "never asked for"),
  ];
  const tags: (string | undefined)[] = [];
  const troubles: string[] = [];
  const changes = watchValues(valuesWith("one", "first tag"), {
    intervalSeconds: 0.001,
    signal: new AbortController().signal,
    onTrouble: (trouble) => troubles.push(trouble),
    async readChanged(tag) {
      tags.push(tag);
      const reply = replies.shift();
      if (reply instanceof Error) throw reply;
      return reply;
    },
  });
  const seen = await Array.fromAsync(changes, ({ values }) => values.items[0]?.value);
  expect(seen).toEqual(["two"]);
  expect(tags).toEqual(["first tag", "first tag", "second tag", "second tag", "third tag"]);
  expect(troubles).toEqual(["away", "refused"]);
});
