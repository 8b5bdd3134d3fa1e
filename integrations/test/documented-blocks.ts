/**
 * @module
 * The recipes of docs/keep/integrations.md, so that tests use exactly what people copy.
 * Imported by tests of integrations only.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

const page = join(import.meta.dirname, "../../docs/keep/integrations.md");

/** The code blocks of a section, in order. */
export async function readBlocks(section: string, language: string): Promise<readonly string[]> {
  const sections = (await readFile(page, "utf8")).split(/^## /mu);
  const text = sections.find((each) => each.startsWith(`${section}\n`)) ?? "";
  const blocks = [...text.matchAll(/^```(?<language>\w+)\n(?<content>[\s\S]*?)^```$/gmu)];
  const found = blocks.flatMap(({ groups }) =>
    groups?.["language"] === language ? [groups["content"] ?? ""] : [],
  );
  if (found.length === 0) throw new Error(`There is no ${language} in the section ${section}`);
  return found;
}
