import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeTemporaryFolder, type TemporaryFolder } from "@hearth-and-keep/test-servers";
import type { CheckCase, Tree } from "./cases/check-case.ts";
import { readJson, stringAt } from "./json-text.ts";

/**
 * Placeholders for text that the repository itself must not contain, or that would be long:
 * `{dot}`, `{slash}`, `{backslash}` and `{fence}` (three backticks) are those characters, `{lines:401}` is that many
 * lines of code.
 */
const placeholders: readonly (readonly [RegExp, (found: string) => string])[] = [
  [/\{dot\}/gu, () => "."],
  [/\{slash\}/gu, () => "/"],
  [/\{fence\}/gu, () => "```"],
  [/\{backslash\}/gu, () => "\\"],
  [/\{lines:(?<count>\d+)\}/gu, (found) => Array.from({ length: digitsOf(found) }, () => ";").join("\n")],
];

/**
 * Writes one tree of a case to a temporary folder, as npm would install it: workspace packages linked into
 * node_modules by name, next to the content of `installed/`. Each file in `commits/` becomes a commit with that
 * message, in the order of their names.
 */
export async function layOutTree(check: CheckCase, kind: "broken" | "valid"): Promise<TemporaryFolder> {
  const folder = await makeTemporaryFolder("check-case");
  try {
    await writeTree(folder.path, withManifests({ ...check.shared, ...check[kind] }));
    await install(folder.path);
    await commitMessages(folder.path);
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
  return folder;
}

/** A package that has an entry point but no package.json gets a standard one. */
function withManifests(tree: Tree): Tree {
  const names = Object.keys(tree).flatMap(
    (path) => /^packages\/([^/]+)\/src\/index\.ts$/u.exec(path)?.[1] ?? [],
  );
  const manifests = names.map((name) => [`packages/${name}/package.json`, manifestOf(name)]);
  return { ...Object.fromEntries(manifests), ...tree };
}

function manifestOf(name: string): string {
  const exports = { ".": "./src/index.ts", "./testing": "./src/testing.ts" };
  return JSON.stringify({ name: `@hearth-and-keep/${name}`, version: "0.0.0", type: "module", exports });
}

async function writeTree(folder: string, tree: Tree): Promise<void> {
  for (const [path, text] of Object.entries(tree)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, fillPlaceholders(text.startsWith("\n") ? text.slice(1) : `${text}\n`));
  }
}

function fillPlaceholders(text: string): string {
  return placeholders.reduce((current, [pattern, value]) => current.replaceAll(pattern, value), text);
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

async function commitMessages(folder: string): Promise<void> {
  const commits = join(folder, "commits");
  if (!existsSync(commits)) return;
  // The repository is explicit, because git hooks set GIT_DIR to the one they run in.
  const settings = ["user.name=Author", "user.email=author@example.com", "commit.gpgsign=false"];
  const options = ["--git-dir", join(folder, ".git"), ...settings.flatMap((setting) => ["-c", setting])];
  const git = (...args: readonly string[]): unknown =>
    execFileSync("git", [...options, ...args], { cwd: folder, stdio: "pipe" });
  git("init", "--quiet");
  for (const name of (await readdir(commits)).toSorted()) {
    git("commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "--file", join(commits, name));
  }
  await rm(commits, { recursive: true });
}

function digitsOf(text: string): number {
  return Number(text.replaceAll(/\D/gu, ""));
}
