import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startProcess } from "./owned-process.ts";
import { readProcessFile } from "./process-table.ts";
import { stopProgramsOf } from "./stop-programs.ts";
import { makeTemporaryFolder } from "./temporary-folder.ts";

const isAlive = (pid: number): boolean => readProcessFile(pid, "environ") !== "";

/** Starts a background process from a shell that exits, as `hearth run` leaves its server. */
async function startInBackground(home: string, line: string): Promise<number> {
  const shell = spawn("bash", ["-c", `setsid bash -c '${line}' >/dev/null 2>&1 & echo $!`], {
    env: { HOME: home, PATH: "/usr/bin:/bin" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [printed] = await once(shell.stdout, "data");
  await once(shell, "close");
  return Number(printed);
}

test("all background processes with a folder as their HOME are stopped, and no others", async () => {
  await using home = await makeTemporaryFolder("home");
  await using other = await makeTemporaryFolder("home");
  await using unrelated = await startProcess({
    command: "sleep",
    arguments: ["60"],
    environment: { HOME: other.path },
    isReady: () => true,
  });
  const started = [
    await startInBackground(home.path, "sleep 60 & wait"),
    await startInBackground(home.path, "exec sleep 60"),
  ];
  await expect.poll(() => started.filter(isAlive)).toEqual(started);
  await stopProgramsOf(home.path);
  expect(started.filter(isAlive)).toEqual([]);
  expect(isAlive(unrelated.pid)).toBe(true);
});

test("a process that ignores SIGTERM is killed after the grace period", { timeout: 60_000 }, async () => {
  await using home = await makeTemporaryFolder("home");
  const stubborn = await startInBackground(
    home.path,
    'trap "" TERM; touch "$HOME/trapped"; while true; do sleep 0.1; done',
  );
  await expect.poll(() => existsSync(join(home.path, "trapped"))).toBe(true);
  expect(isAlive(stubborn)).toBe(true);
  await stopProgramsOf(home.path);
  expect(isAlive(stubborn)).toBe(false);
});
