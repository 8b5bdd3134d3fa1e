import { readFileSync } from "node:fs";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { routes } from "../routes.ts";
import { startTestKeep } from "../test/start-test-keep.ts";
import { createTestAccount } from "./test/fixture.ts";
import { columns, type Observation, observeRow, type Row } from "./test/observe.ts";

const reviewedRows = readFileSync(new URL("fixtures/authorization-table.md", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => /^\| (?:GET|PUT|POST|PATCH|DELETE) /u.test(line));

const minRequests = 2000;

function renderRow({ method, path }: Row, { cells }: Observation): string {
  return `| ${[`${method} ${path}`, ...columns.map((column) => cells[column])].join(" | ")} |`;
}

test("every route responds to every principal, for own, foreign and missing objects, as in the reviewed table", {
  timeout: 240_000,
}, async () => {
  const settings = {
    readsPerMinute: "1000000",
    writesPerMinute: "1000000",
    trustedProxies: "127.0.0.1",
    codeHostingClientId: "keep",
    codeHostingClientSecret: "secret",
  };
  await using keep = await startTestKeep({ settings });
  const state = {
    fixture: { keep, own: await createTestAccount(keep), foreign: await createTestAccount(keep) },
  };
  const observed: string[] = [];
  const leaks: string[] = [];
  let requests = 0;
  for (const row of routes) {
    const observation = await observeRow(row, state);
    observed.push(renderRow(row, observation));
    leaks.push(...observation.leaks);
    requests += observation.requests;
  }
  expect(leaks).toEqual([]);
  expect(observed.toSorted()).toEqual(reviewedRows.toSorted());
  expect(requests).toBeGreaterThanOrEqual(minRequests);
  recordFigure({
    claim: "keep 4",
    text: `${routes.length} of ${routes.length} routes equal the reviewed table in ${requests} requests by ${columns.length + 15} principals; foreign and missing byte-equal`,
    counted: { reached: requests, needed: minRequests },
  });
});
