import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { recordFigure } from "@hearth-and-keep/figures";
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
const mostMilliseconds = 150;
const rounds = sized(12, 3);

/** The quickest of several starts, beside a Node that does nothing, whose time is not ours: others only add to it. */
function ownMilliseconds(program: string, environment: Record<string, string>): number {
  const env = { ...environment, ...seededEnvironment };
  const take = (words: readonly string[]): number => {
    const startedAt = performance.now();
    const { status, stderr } = spawnSync(process.execPath, words, { env, encoding: "utf8" });
    expect(status, stderr).toBe(0);
    return performance.now() - startedAt;
  };
  take([program, "list"]);
  const times = Array.from({ length: rounds }, () => [take([program, "list"]), take(["-e", "0"])] as const);
  return Math.min(...times.map(([ours]) => ours)) - Math.min(...times.map(([, bare]) => bare));
}

test("hearth list on a running server takes at most 150 ms of our own time, in a clone and installed", {
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
  const installed = packAndInstall("hearth", folder.path);
  const measured = [
    { where: "in a clone", milliseconds: ownMilliseconds(bin, environment) },
    {
      where: "as it is installed",
      milliseconds: ownMilliseconds(realpathSync(installed.program), environment),
    },
  ];
  for (const { where, milliseconds } of measured) {
    expect(milliseconds, where).toBeLessThanOrEqual(upperBound(mostMilliseconds));
    recordFigure({
      claim: "people 7",
      text: `${milliseconds.toFixed(0)} ms ${where}, of at most ${mostMilliseconds}`,
    });
  }
});
