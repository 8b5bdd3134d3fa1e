import { utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { openModelStore } from "../models/store/model-store.ts";
import { listFiles } from "../models/test/stores.ts";
import { prune } from "./prune.ts";

test("prune lists unused files in a table, and a dry run removes nothing", async () => {
  await using folder = await makeTemporaryFolder("models");
  await openModelStore(folder.path, "own");
  const blob = `sha256-${"0".repeat(64)}`;
  for (const file of [`blobs/${blob}`, "partial/left"]) {
    const path = join(folder.path, file);
    await writeFile(path, Buffer.alloc(1_000_000));
    await utimes(path, new Date(0), new Date(0));
  }
  const lines: string[] = [];
  const before = await listFiles(folder.path);
  await prune({ models: folder.path, dryRun: true }, (line) => lines.push(line));
  expect(lines).toEqual([
    expect.stringMatching(/^KIND {10}SIZE {6}MODIFIED {12}NAME$/),
    expect.stringMatching(/^blob {10}1\.0 MB {4}1970-01-01 00:00 {4}sha256:0{64}$/),
    expect.stringMatching(/^unfinished {4}1\.0 MB {4}1970-01-01 00:00 {4}left$/),
    "",
    "2 files, 2.0 MB would be removed",
  ]);
  expect(await listFiles(folder.path)).toEqual(before);
  const documents: string[] = [];
  await prune({ models: folder.path, dryRun: true, isJson: true }, (line) => documents.push(line));
  const [blobFile, left] = [
    {
      kind: "blob",
      name: blob.replace("-", ":"),
      bytes: expect.any(Number),
      modifiedAt: "1970-01-01T00:00:00.000Z",
    },
    expect.objectContaining({ kind: "unfinished", name: "left" }),
  ];
  expect(JSON.parse(documents.join("\n"))).toEqual({
    files: [blobFile, left],
    bytes: expect.any(Number),
    isRemoved: false,
  });
  expect(await listFiles(folder.path)).toEqual(before);
  await prune({ models: folder.path, dryRun: false }, (line) => lines.push(line));
  expect(await listFiles(folder.path)).toEqual([]);
  await prune({ models: folder.path, dryRun: true }, (line) => lines.push(line));
  expect(lines.at(-1)).toMatch(/^Nothing to remove/);
});
