import { utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { openModelStore } from "../models/store/model-store.ts";
import { filesBelow } from "../models/test/stores.ts";
import { prune } from "./prune.ts";

test("prune tells in a table what goes, and a dry run touches nothing", async () => {
  await using folder = await makeTemporaryFolder("models");
  await openModelStore(folder.path, "own");
  const blob = `sha256-${"0".repeat(64)}`;
  for (const file of [`blobs/${blob}`, "partial/left"]) {
    const path = join(folder.path, file);
    await writeFile(path, Buffer.alloc(1_000_000));
    await utimes(path, new Date(0), new Date(0));
  }
  const lines: string[] = [];
  const before = await filesBelow(folder.path);
  await prune({ models: folder.path, dryRun: true }, (line) => lines.push(line));
  expect(lines).toEqual([
    expect.stringMatching(/^what {8}size {4}last written {6}name$/),
    expect.stringMatching(/^blob {8}1\.0 MB {2}1970-01-01 00:00 {2}sha256:0{64}$/),
    expect.stringMatching(/^unfinished {2}1\.0 MB {2}1970-01-01 00:00 {2}left$/),
    "",
    "2 files, 2.0 MB would go",
  ]);
  expect(await filesBelow(folder.path)).toEqual(before);
  await prune({ models: folder.path, dryRun: false }, (line) => lines.push(line));
  expect(await filesBelow(folder.path)).toEqual([]);
  await prune({ models: folder.path, dryRun: true }, (line) => lines.push(line));
  expect(lines.at(-1)).toMatch(/^Nothing to remove/);
});
