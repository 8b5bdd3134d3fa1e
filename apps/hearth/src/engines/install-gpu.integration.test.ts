import { readdir } from "node:fs/promises";
import { FailureError } from "@hearth-and-keep/failures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import lockfile from "../../../../package-lock.json" with { type: "json" };
import { readEngineLocations } from "../config.ts";
import { type EngineSetupFailure, formatEngineSetupFailure } from "./engine-programs.ts";
import { findEngines } from "./find-engines.ts";
import { bindingVersion, gpuBackends, gpuPackagesFor } from "./gpu-packages.ts";
import { installGpuEngine } from "./install-gpu.ts";

const onStep = (): void => undefined;
const linux = { platform: "linux", arch: "x64" };

async function messageOf(work: Promise<unknown>): Promise<string> {
  const error = await work.catch((reason: unknown) => reason);
  // The function under test only throws failures of this union.
  if (error instanceof FailureError) return formatEngineSetupFailure(error.failure as EngineSetupFailure);
  throw error;
}

test("users install the version and integrity that the lockfile has", () => {
  const locked: Readonly<Record<string, unknown>> = lockfile.packages;
  const packages = gpuBackends.flatMap((backend) => gpuPackagesFor(backend, linux));
  expect(packages).toHaveLength(3);
  for (const { name, integrity } of packages) {
    expect(locked[`node_modules/${name}`]).toMatchObject({ version: bindingVersion, integrity });
  }
  expect(locked["node_modules/node-llama-cpp"]).toMatchObject({ version: bindingVersion });
});

test("a package with another integrity is rejected and leaves nothing behind", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const locations = readEngineLocations({ enginesFolder: folder.path });
  const packages = [{ name: "@node-llama-cpp/linux-x64", integrity: `sha512-${"A".repeat(86)}==` }];
  const message = await messageOf(installGpuEngine(locations, { backend: "vulkan", onStep, packages }));
  expect(message).toMatch(/^Cannot install the vulkan engine: .*integrity/iu);
  expect(message).not.toContain(folder.path);
  expect(await readdir(folder.path)).toEqual([]);
  expect(findEngines(locations).some((program) => program.kind === "binding" && program.gpu)).toBe(false);
}, 120_000);

test("a platform without packages, and a machine without npm, are reported", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const locations = { folder: folder.path, searchPath: [] };
  expect(gpuPackagesFor("cuda", { platform: "darwin", arch: "arm64" })).toEqual([]);
  expect(await messageOf(installGpuEngine(locations, { backend: "cuda", onStep, packages: [] }))).toContain(
    "packages for Linux on x64 only",
  );
  const packages = gpuPackagesFor("vulkan", linux);
  expect(await messageOf(installGpuEngine(locations, { backend: "vulkan", onStep, packages }))).toContain(
    "npm is not on the PATH",
  );
});
