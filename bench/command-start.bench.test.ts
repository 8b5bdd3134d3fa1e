import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { recordFigure, scale } from "@hearth-and-keep/figures";
import {
  findFreePort,
  makeTemporaryFolder,
  seededEnvironment,
  startProcess,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { packAndInstall } from "../claims/ground/pack-and-install.ts";
import { sized, upperBound } from "./rounds.ts";

const bin = fileURLToPath(new URL("../apps/hearth/bin/hearth.js", import.meta.url));
const maxMilliseconds = 150;
const rounds = sized(12, 3);

/** The fastest of several runs minus the fastest run of an empty script, because other processes only add time. */
function ownMilliseconds(program: string, environment: Record<string, string>): number {
  const env = { ...environment, ...seededEnvironment };
  const timeRun = (args: readonly string[]): number => {
    const startedAt = performance.now();
    const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
    expect(status, stderr).toBe(0);
    return performance.now() - startedAt;
  };
  timeRun([program, "list"]);
  const times = Array.from(
    { length: rounds },
    () => [timeRun([program, "list"]), timeRun(["-e", "0"])] as const,
  );
  return Math.min(...times.map(([ours]) => ours)) - Math.min(...times.map(([, bare]) => bare));
}

test("hearth list against a running server adds at most 150 ms to the start of Node, from a clone and installed", {
  timeout: 120_000,
}, async () => {
  await using folder = await makeTemporaryFolder("command-start");
  const port = String(await findFreePort());
  const environment = { HOME: folder.path, HEARTH_PORT: port, PATH: "/usr/bin:/bin" };
  await using stack = new AsyncDisposableStack();
  stack.use(
    await startProcess({
      command: process.execPath,
      arguments: [bin, "serve"],
      environment,
      isReady: (output) => output.includes("listening on"),
    }),
  );
  const programs = [{ where: "from a clone", program: bin }];
  // Installing takes most of the time, and other tests of CI run the installed program.
  if (scale !== "ci") {
    programs.push({
      where: "installed",
      program: realpathSync(packAndInstall("hearth", folder.path).program),
    });
  }
  for (const { where, program } of programs) {
    const milliseconds = ownMilliseconds(program, environment);
    expect(milliseconds, where).toBeLessThanOrEqual(upperBound(maxMilliseconds));
    recordFigure({
      claim: "people 7",
      text: `${milliseconds.toFixed(0)} ms ${where}, at most ${maxMilliseconds}`,
    });
  }
});
