import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { root } from "../run-to-end.ts";

/** The test files that a document links to. */
export function testsNamedIn(document: string): readonly string[] {
  const text = readFileSync(join(root, document), "utf8");
  const links = [...text.matchAll(/\]\(([^)\s]+\.test\.ts)\)/gu)].map(([, link = ""]) => link);
  return [...new Set(links.map((link) => normalize(join(dirname(document), link))))].toSorted();
}
