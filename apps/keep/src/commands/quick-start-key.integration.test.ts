import { execFile } from "node:child_process";
import { copyFile, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const program = join(root, "apps/keep/bin/keep.js");

/** The command of the quick start that stores the key, with the program of this clone. */
async function readCommand(): Promise<string> {
  const page = await readFile(join(root, "docs/keep/quick-start.md"), "utf8");
  const [line = ""] = page.split("\n").filter((each) => each.includes("generate-key"));
  expect(line).toContain("npx --no keep");
  return line.replace("npx --no keep", `'${process.execPath}' '${program}'`);
}

async function runInShell(folder: string, command: string): Promise<{ mode: number; key: string }> {
  await promisify(execFile)("sh", ["-c", `umask 022; ${command}`], { cwd: folder });
  const path = join(folder, "keep.key");
  return { mode: (await stat(path)).mode & 0o777, key: (await readFile(path, "utf8")).trim() };
}

test("other users of the machine cannot read the key of the quick start, and git ignores it", async () => {
  await using folder = await makeTemporaryFolder("quick-start-key");
  const command = await readCommand();
  const { mode, key } = await runInShell(folder.path, command);
  expect([mode, Buffer.from(key, "base64").length]).toEqual([0o600, 32]);
  await copyFile(join(root, ".gitignore"), join(folder.path, ".gitignore"));
  const git = (...args: readonly string[]) => promisify(execFile)("git", args, { cwd: folder.path });
  await git("init", "--quiet");
  const { stdout } = await git("status", "--short", "--untracked-files=all");
  expect(stdout).toBe("?? .gitignore\n");
});

test("without the umask of the quick start, others could read the key", async () => {
  await using folder = await makeTemporaryFolder("quick-start-key");
  const command = (await readCommand()).replace("umask 077 && ", "");
  expect((await runInShell(folder.path, command)).mode).toBe(0o644);
});
