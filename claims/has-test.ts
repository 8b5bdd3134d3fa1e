import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./run-to-end.ts";

export type NamedTest = { readonly file: string; readonly name: string };

/** Whether a file contains a test of that name, in any quotes. */
export async function hasTest({ file, name }: NamedTest): Promise<boolean> {
  const source = await readFile(join(root, file), "utf8");
  return ['"', "'", "`"].some((quote) => source.includes(`${quote}${name}${quote}`));
}
