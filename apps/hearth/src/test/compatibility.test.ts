import { existsSync, readFileSync } from "node:fs";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { routes } from "../routes.ts";
import specification from "./fixtures/specification-rows.json" with { type: "json" };

const documentUrl = new URL("../../../../docs/hearth/compatibility.md", import.meta.url);

type NamedTest = { readonly name: string; readonly file: string };
type DocumentRow = {
  readonly section: string;
  readonly cells: readonly string[];
  readonly tests: readonly NamedTest[];
};

const rows = readRows(readFileSync(documentUrl, "utf8"));

/** The rows of all tables, with their section and without the table heads. */
function readRows(markdown: string): readonly DocumentRow[] {
  return markdown.split(/^## /mu).flatMap((part) => {
    const [section = "", ...lines] = part.split("\n");
    const body = lines.filter((line) => line.startsWith("| ")).slice(1);
    return body.map((line) => ({
      section,
      cells: line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
      tests: [...line.matchAll(/\[([^\]]+)\]\(([^)]+\.test\.ts)\)/gu)].map(([, name = "", file = ""]) => ({
        name,
        file,
      })),
    }));
  });
}

/** Whether the file contains a test of that name that is not skipped. */
function testExists({ name, file }: NamedTest): boolean {
  const url = new URL(file, documentUrl);
  if (!existsSync(url)) return false;
  const start = `(?:^|\\n)\\s*(?:test(?:\\.(?:for|each)[^;]*?\\))?|\\](?: as const)?\\))\\(\\s*`;
  const spelled = RegExp.escape(JSON.stringify(name).slice(1, -1));
  return new RegExp(`${start}["'\`]${spelled}["'\`],`, "u").test(readFileSync(url, "utf8"));
}

function testedRows(section: string): readonly DocumentRow[] {
  return rows.filter((row) => row.section === section && row.tests.length > 0);
}

test("every row of the specification is documented with a test that exists", () => {
  const specified = Object.entries(specification).flatMap(([section, names]) =>
    names.map((name) => ({ section, name })),
  );
  const missing = specified.filter(
    ({ section, name }) => !testedRows(section).some(({ cells: [first] }) => first === name),
  );
  expect(missing).toEqual([]);
  expect(rows.flatMap(({ tests }) => tests).filter((named) => !testExists(named))).toEqual([]);
  recordFigure({
    claim: "families 1",
    text: `${specified.length - missing.length} of ${specified.length} rows of the specification have a named test`,
    counted: { reached: specified.length - missing.length, needed: specified.length },
  });
});

test("the document lists exactly the routes of the server", () => {
  const documented = testedRows("Routes").map(({ cells: [method, path] }) => `${method} ${path}`);
  const served = routes.map(({ method, path }) => `${method} \`${path}\``);
  expect(documented.toSorted()).toEqual(served.toSorted());
  recordFigure({
    claim: "families 1",
    text: `${documented.length} of ${served.length} routes have a named test`,
    counted: { reached: documented.length, needed: served.length },
  });
});

test("a test that does not exist is detected, even if its name occurs elsewhere in the file", () => {
  const file = "../../apps/hearth/src/test/compatibility.test.ts";
  const own = "the document lists exactly the routes of the server";
  expect(testExists({ name: own, file })).toBe(true);
  expect(testExists({ name: "families 1", file })).toBe(false);
  expect(testExists({ name: own, file: "../../apps/hearth/src/test/gone.test.ts" })).toBe(false);
});
