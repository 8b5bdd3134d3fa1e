import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./run-to-end.ts";

export type NamedTest = { readonly file: string; readonly name: string };

/** Whether a file contains a test of that name, in any quotes. */
async function hasTest({ file, name }: NamedTest): Promise<boolean> {
  const source = await readFile(join(root, file), "utf8");
  return ['"', "'", "`"].some((quote) => source.includes(`${quote}${name}${quote}`));
}

/** Those that no file contains, of all tests that the rows name. */
export async function findMissingTests(
  rows: readonly { readonly tests: readonly NamedTest[] }[],
): Promise<readonly NamedTest[]> {
  const named = rows.flatMap(({ tests }) => tests);
  const found = await Promise.all(named.map(hasTest));
  return named.filter((_test, index) => found[index] !== true);
}
