import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { environmentOfOlderNode } from "../../claims/ground/older-node.ts";

const programs = [
  ["Hearth", "../../apps/hearth/bin/hearth.js"],
  ["Keep", "../../apps/keep/bin/keep.js"],
] as const;

test("under an older Node, both programs name the required version in one line and exit with 1", async () => {
  await using folder = await makeTemporaryFolder("older-node");
  const env = environmentOfOlderNode(folder.path);
  for (const [name, path] of programs) {
    const program = fileURLToPath(new URL(path, import.meta.url));
    const { status, stdout, stderr } = spawnSync("node", [program, "--version"], { env, encoding: "utf8" });
    expect(stderr).toMatch(
      new RegExp(
        String.raw`^${name} requires Node\.js 24\.15 or newer, but this is Node\.js 20\.\d+\.\d+\n$`,
        "u",
      ),
    );
    expect([status, stdout]).toEqual([1, ""]);
  }
}, 120_000);
