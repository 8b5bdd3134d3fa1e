import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startProcess } from "./owned-process.ts";
import { readProcessFile } from "./process-table.ts";
import { endProgramsOf } from "./stop-programs.ts";
import { makeTemporaryFolder } from "./temporary-folder.ts";

const isAlive = (pid: number): boolean => readProcessFile(pid, "environ") !== "";

/** Left in the background by a shell that is gone, as `hearth run` leaves its server. */
async function leaveBehind(home: string, line: string): Promise<number> {
  const shell = spawn("bash", ["-c", `setsid bash -c '${line}' >/dev/null 2>&1 & echo $!`], {
    env: { HOME: home, PATH: "/usr/bin:/bin" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [printed] = await once(shell.stdout, "data");
  await once(shell, "close");
  return Number(printed);
}

test("everything that was left behind with a folder as its home is ended, and nothing else", async () => {
  await using home = await makeTemporaryFolder("home");
  await using other = await makeTemporaryFolder("home");
  await using stranger = await startProcess({
    command: "sleep",
    arguments: ["60"],
    environment: { HOME: other.path },
    isReady: () => true,
  });
  const left = [
    await leaveBehind(home.path, "sleep 60 & wait"),
    await leaveBehind(home.path, "exec sleep 60"),
  ];
  await expect.poll(() => left.filter(isAlive)).toEqual(left);
  await endProgramsOf(home.path);
  expect(left.filter(isAlive)).toEqual([]);
  expect(isAlive(stranger.pid)).toBe(true);
});

test("one that does not want to end is ended after a while", { timeout: 60_000 }, async () => {
  await using home = await makeTemporaryFolder("home");
  const stubborn = await leaveBehind(
    home.path,
    'trap "" TERM; touch "$HOME/deaf"; while true; do sleep 0.1; done',
  );
  await expect.poll(() => existsSync(join(home.path, "deaf"))).toBe(true);
  expect(isAlive(stubborn)).toBe(true);
  await endProgramsOf(home.path);
  expect(isAlive(stubborn)).toBe(false);
});
