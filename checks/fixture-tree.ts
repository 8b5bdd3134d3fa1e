import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeTemporaryFolder, type TemporaryFolder } from "@hearth-and-keep/test-servers";
import { readJson, stringAt } from "./json-text.ts";

export const fixturesFolder: string = join(import.meta.dirname, "fixtures");

/**
 * What a fixture writes for what the repository itself must not contain, or need not be long for:
 * `{dot}`, `{slash}` and `{backslash}` are those characters, `{lines:401}` is that many lines of code.
 */
const placeholders: readonly (readonly [RegExp, (found: string) => string])[] = [
  [/\{dot\}/gu, () => "."],
  [/\{slash\}/gu, () => "/"],
  [/\{backslash\}/gu, () => "\\"],
  [/\{lines:(?<count>\d+)\}/gu, (found) => Array.from({ length: digitsOf(found) }, () => ";").join("\n")],
];

/**
 * Copies a fixture to a folder of its own, as npm would leave it: workspace packages linked under node_modules by
 * their names, and what stands in `installed/` put beside them. Git never keeps a node_modules folder.
 */
export async function layOutFixture(fixture: string): Promise<TemporaryFolder> {
  const source = join(fixturesFolder, fixture);
  if (!existsSync(source)) throw new Error(`Cannot find the fixture "${fixture}"`);
  const tree = await makeTemporaryFolder("check-fixture");
  try {
    await cp(source, tree.path, { recursive: true });
    await fillPlaceholders(tree.path);
    await install(tree.path);
  } catch (problem) {
    await tree[Symbol.asyncDispose]();
    throw problem;
  }
  return tree;
}

async function fillPlaceholders(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const text = await readFile(path, "utf8");
    const filled = placeholders.reduce(
      (current, [pattern, value]) => current.replaceAll(pattern, value),
      text,
    );
    if (filled !== text) await writeFile(path, filled);
  }
}

async function install(folder: string): Promise<void> {
  const modules = join(folder, "node_modules");
  const installed = join(folder, "installed");
  if (existsSync(installed)) await rename(installed, modules);
  for (const group of ["apps", "packages"]) {
    const members = await readdir(join(folder, group)).catch(() => []);
    for (const member of members) {
      const path = join(folder, group, member, "package.json");
      if (!existsSync(path)) continue;
      const name = stringAt(readJson({ path, text: await readFile(path, "utf8") }), "name") ?? member;
      await mkdir(dirname(join(modules, name)), { recursive: true });
      await symlink(dirname(path), join(modules, name));
    }
  }
}

function digitsOf(text: string): number {
  return Number(text.replaceAll(/\D/gu, ""));
}
