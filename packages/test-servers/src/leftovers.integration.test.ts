import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findLeftovers } from "./leftovers.ts";
import { startProcess } from "./owned-process.ts";
import { makeTemporaryFolder } from "./temporary-folder.ts";

test("a running process, its open port and a leftover file are each reported", async () => {
  await using folder = await makeTemporaryFolder("leftovers");
  const runId = randomUUID();
  await using leftover = await startProcess({
    command: process.execPath,
    arguments: [
      "-e",
      "require('net').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port) })",
    ],
    environment: { HEARTH_AND_KEEP_RUN: runId },
    isReady: (output) => output !== "",
  });
  await writeFile(join(folder.path, "leftover"), "");
  expect(findLeftovers({ runId, folders: [folder.path] })).toEqual([
    expect.stringContaining(`process ${leftover.pid} still runs`),
    `port ${leftover.output().trim()} is still open`,
    '"leftover" is still in the temporary folder',
  ]);
});

test("a run that cleaned up has no leftovers", async () => {
  await using folder = await makeTemporaryFolder("leftovers");
  const runId = randomUUID();
  {
    await using child = await startProcess({
      command: process.execPath,
      arguments: ["-e", "setInterval(() => undefined, 1000); console.log('ready')"],
      environment: { HEARTH_AND_KEEP_RUN: runId },
      isReady: (output) => output !== "",
    });
    expect(findLeftovers({ runId, folders: [folder.path] })[0]).toContain(`process ${child.pid} still runs`);
  }
  expect(findLeftovers({ runId, folders: [folder.path] })).toEqual([]);
});
