import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findLeftovers } from "./leftovers.ts";
import { startProcess } from "./owned-process.ts";
import { makeTemporaryFolder } from "./temporary-folder.ts";

test("a process that still runs, the port it holds and a forgotten file are each named", async () => {
  await using folder = await makeTemporaryFolder("leftovers");
  const runId = randomUUID();
  await using forgotten = await startProcess({
    command: process.execPath,
    arguments: [
      "-e",
      "require('net').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port) })",
    ],
    environment: { HEARTH_AND_KEEP_RUN: runId },
    isReady: (output) => output !== "",
  });
  await writeFile(join(folder.path, "forgotten"), "");
  expect(findLeftovers({ runId, folder: folder.path })).toEqual([
    expect.stringContaining(`process ${forgotten.pid} still runs`),
    `port ${forgotten.output().trim()} is still open`,
    '"forgotten" is still in the temporary folder',
  ]);
});

test("a run that cleaned up after itself leaves nothing to name", async () => {
  await using folder = await makeTemporaryFolder("leftovers");
  const runId = randomUUID();
  {
    await using part = await startProcess({
      command: process.execPath,
      arguments: ["-e", "setInterval(() => undefined, 1000); console.log('ready')"],
      environment: { HEARTH_AND_KEEP_RUN: runId },
      isReady: (output) => output !== "",
    });
    expect(findLeftovers({ runId, folder: folder.path })[0]).toContain(`process ${part.pid} still runs`);
  }
  expect(findLeftovers({ runId, folder: folder.path })).toEqual([]);
});
