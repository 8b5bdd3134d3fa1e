import { readFileSync } from "node:fs";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { routes } from "../routes.ts";
import { startTestKeep } from "../test/start-test-keep.ts";
import { makeSide } from "./test/fixture.ts";
import { columns, type Observation, observeRow, type Row } from "./test/observe.ts";

const reviewed = readFileSync(new URL("fixtures/authorization-table.md", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => /^\| (?:GET|PUT|POST|PATCH|DELETE) /u.test(line));

const fewestCalls = 2000;

function renderRow({ method, path }: Row, { cells }: Observation): string {
  return `| ${[`${method} ${path}`, ...columns.map((column) => cells[column])].join(" | ")} |`;
}

test("every route answers every principal about what is theirs, another's and nobody's as the reviewed table says", {
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
  const theatre = { stage: { keep, own: await makeSide(keep), foreign: await makeSide(keep) } };
  const observed: string[] = [];
  const tellTales: string[] = [];
  let calls = 0;
  for (const row of routes) {
    const observation = await observeRow(row, theatre);
    observed.push(renderRow(row, observation));
    tellTales.push(...observation.tellTales);
    calls += observation.calls;
  }
  expect(tellTales).toEqual([]);
  expect(observed.toSorted()).toEqual(reviewed.toSorted());
  expect(calls).toBeGreaterThanOrEqual(fewestCalls);
  recordFigure({
    claim: "keep 4",
    text: `${routes.length} of ${routes.length} routes equal the reviewed table in ${calls} calls by ${columns.length + 15} principals; foreign and missing byte-equal`,
    counted: { reached: calls, needed: fewestCalls },
  });
});
