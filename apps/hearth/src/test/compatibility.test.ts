import { existsSync, readFileSync } from "node:fs";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { routes } from "../routes.ts";
import specification from "./fixtures/specification-rows.json" with { type: "json" };

const documentUrl = new URL("../../../../docs/compatibility.md", import.meta.url);

type NamedTest = { readonly name: string; readonly file: string };
type DocumentRow = {
  readonly section: string;
  readonly cells: readonly string[];
  readonly tests: readonly NamedTest[];
};

const rows = readRows(readFileSync(documentUrl, "utf8"));

/** All rows of all tables below a heading, without their heads. */
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

/** A test of that name stands in the file, and is not one that is never run. */
function isThere({ name, file }: NamedTest): boolean {
  const url = new URL(file, documentUrl);
  if (!existsSync(url)) return false;
  const start = `(?:^|\\n)\\s*(?:test(?:\\.(?:for|each)[^;]*?\\))?|\\](?: as const)?\\))\\(\\s*`;
  const spelled = RegExp.escape(JSON.stringify(name).slice(1, -1));
  return new RegExp(`${start}["'\`]${spelled}["'\`],`, "u").test(readFileSync(url, "utf8"));
}

function shownRows(section: string): readonly DocumentRow[] {
  return rows.filter((row) => row.section === section && row.tests.length > 0);
}

test("every row and sentence of the specification stands in the document with a test that exists", () => {
  const asked = Object.entries(specification).flatMap(([section, names]) =>
    names.map((name) => ({ section, name })),
  );
  const missing = asked.filter(
    ({ section, name }) => !shownRows(section).some(({ cells: [first] }) => first === name),
  );
  expect(missing).toEqual([]);
  expect(rows.flatMap(({ tests }) => tests).filter((named) => !isThere(named))).toEqual([]);
  recordFigure({
    claim: "families 1",
    text: `${asked.length - missing.length} of ${asked.length} rows and sentences of the specification have a named test`,
    counted: { reached: asked.length - missing.length, needed: asked.length },
  });
});

test("every route of the program stands in the document, and no other", () => {
  const documented = shownRows("Every URL").map(({ cells: [method, path] }) => `${method} ${path}`);
  const served = routes.map(({ method, path }) => `${method} \`${path}\``);
  expect(documented.toSorted()).toEqual(served.toSorted());
  recordFigure({
    claim: "families 1",
    text: `${documented.length} of ${served.length} routes have a named test`,
    counted: { reached: documented.length, needed: served.length },
  });
});

test("a test that does not exist is noticed, also where its name stands in another place", () => {
  const file = "../apps/hearth/src/test/compatibility.test.ts";
  const own = "every route of the program stands in the document, and no other";
  expect(isThere({ name: own, file })).toBe(true);
  expect(isThere({ name: "families 1", file })).toBe(false);
  expect(isThere({ name: own, file: "../apps/hearth/src/test/gone.test.ts" })).toBe(false);
});
