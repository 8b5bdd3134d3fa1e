import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { recordFigure, scale } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, seededEnvironment } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { packAndInstall } from "../claims/ground/pack-and-install.ts";
import { startKeepFixture } from "./keep-fixture.ts";
import { compareInTurns, sized, upperBound } from "./rounds.ts";

const clone = fileURLToPath(new URL("../apps/keep/bin/keep.js", import.meta.url));
const limits = { warm: 150, cold: 300 };
const turns = sized(5, 1);

test("keep run takes little time of its own, warm and with nothing compiled yet", {
  timeout: 400_000,
}, async () => {
  await using stack = new AsyncDisposableStack();
  const { path: home } = stack.use(await makeTemporaryFolder("keep-run-start"));
  const fixture = stack.use(await startKeepFixture());
  const { owner, url } = fixture;
  for (const name of ["A", "B", "C"])
    await fixture.request(`/api/secrets/vaults/${owner.vaultId}/secrets/by-path/app/${name}`, {
      method: "PUT",
      body: { value: `value ${name}` },
    });
  // Installing takes most of the time, and other tests of CI run the installed program.
  const program = scale === "ci" ? clone : realpathSync(packAndInstall("keep", home).program);
  const cache = join(home, ".cache/keep/compiled");
  const environment = {
    HOME: home,
    PATH: "/usr/bin:/bin",
    KEEP_SERVER: url,
    KEEP_TOKEN: owner.token,
    KEEP_VAULT: owner.vaultId,
  };
  const timed = (command: string, args: readonly string[]): number => {
    const startedAt = performance.now();
    const { status, stderr } = spawnSync(command, args, {
      env: { ...environment, ...seededEnvironment },
      encoding: "utf8",
    });
    expect(status, stderr).toBe(0);
    return performance.now() - startedAt;
  };
  const bare = { name: "bare", measure: async () => timed("/bin/true", []) };
  const run = () => timed(process.execPath, [program, "run", "--folder", "/app", "--", "/bin/true"]);
  const warm = { name: "keep run", measure: async () => run() };
  const cold = {
    name: "keep run, nothing compiled",
    async measure() {
      await rm(cache, { recursive: true, force: true });
      return run();
    },
  };
  for (const [kind, ours] of [
    ["warm", warm],
    ["cold", cold],
  ] as const) {
    run();
    const { medians, ratio } = await compareInTurns({ name: `keep-run-${kind}`, ours, theirs: bare, turns });
    const own = medians[0] - medians[1];
    const maxMilliseconds = limits[kind];
    recordFigure({
      claim: "client 6",
      text: `${kind} ${own.toFixed(0)} ms of its own, at most ${maxMilliseconds}, ${ratio.toFixed(0)} × a bare start of ${medians[1].toFixed(1)} ms`,
    });
    expect.soft(own, kind).toBeLessThanOrEqual(upperBound(maxMilliseconds));
  }
});
