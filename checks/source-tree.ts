import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { TextFile } from "./finding.ts";

/** The root of this repository. */
export const repositoryFolder: string = dirname(import.meta.dirname);

const maxTextBytes = 8 * 1024 * 1024;

/** Every tracked or untracked file that git does not ignore; in a folder without git, every file. */
export async function readTree(folder: string): Promise<readonly TextFile[]> {
  const paths = existsSync(join(folder, ".git")) ? await listCommittable(folder) : await listAll(folder);
  const files = await Promise.all(paths.toSorted().map((path) => readText(folder, path)));
  return files.filter((file) => file !== undefined);
}

/** TypeScript and JavaScript that we wrote; fixtures are broken on purpose and are excluded. */
export function codeFiles(files: readonly TextFile[]): readonly TextFile[] {
  return files.filter(({ path }) => /\.(?:[cm]?[jt]s|tsx)$/u.test(path) && !isFixture(path));
}

export function typeScriptFiles(files: readonly TextFile[]): readonly TextFile[] {
  return codeFiles(files).filter(({ path }) => /\.tsx?$/u.test(path));
}

export function isTest(path: string): boolean {
  return /\.test\.tsx?$/u.test(path);
}

export function isFixture(path: string): boolean {
  return path.split("/").includes("fixtures") || path.startsWith("checks/cases/");
}

export function isNamed(path: string, name: string): boolean {
  return basename(path) === name;
}

async function listCommittable(folder: string): Promise<string[]> {
  const list = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const { stdout } = await promisify(execFile)("git", list, { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
  return [...new Set(stdout.split("\0"))].filter((path) => path !== "");
}

async function listAll(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => !path.split("/").includes("node_modules"));
}

async function readText(folder: string, path: string): Promise<TextFile | undefined> {
  const absolutePath = join(folder, path);
  // Git also lists deleted files until the deletion is committed, and another process may delete one meanwhile.
  const found = await stat(absolutePath).catch(() => undefined);
  if (found === undefined || !found.isFile()) return undefined;
  if (found.size > maxTextBytes) return { path, text: "" };
  const text = await readFile(absolutePath, "utf8");
  return { path, text: text.includes("\0") ? "" : text };
}
