import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type EngineLocations, type EngineProgram, missingTool } from "./engine-programs.ts";
import { findTool, gpuFolder } from "./find-engines.ts";
import { bindingVersion, type GpuBackend, type GpuPackage, gpuPackagesFor } from "./gpu-packages.ts";
import type { InstallOptions } from "./install-xllamacpp.ts";
import { runTool } from "./run-tool.ts";
import { openStagingFolder } from "./staging-folder.ts";

export type GpuInstallOptions = Pick<InstallOptions, "onStep" | "signal"> & {
  readonly backend: GpuBackend;
  /** By default those of the release that Hearth is tested with. */
  readonly packages?: readonly GpuPackage[];
};

/** Of npm: installs what the lockfile lists, runs nothing that a package contains, and sends nothing else. */
const npmArgs = [
  "ci",
  "--ignore-scripts",
  "--no-bin-links",
  "--no-audit",
  "--no-fund",
  "--no-update-notifier",
  "--loglevel=error",
  // A log would contain the addresses of the registry.
  "--logs-max=0",
];

/**
 * Installs the binding's packages for a GPU with npm, completely or not at all. npm uses the registry that the user has
 * configured and compares each package to its integrity. What it notes about the registry is removed.
 */
export async function installGpuEngine(
  locations: EngineLocations,
  { onStep, signal, backend, packages = gpuPackagesFor(backend) }: GpuInstallOptions,
): Promise<EngineProgram> {
  if (packages.length === 0) throw missingTool("gpu-package");
  const npm = findTool(["npm"], locations.searchPath);
  if (npm === undefined) throw missingTool("npm");
  await using staging = await openStagingFolder(locations.folder, backend);
  onStep(`Downloading ${packages.map(({ name }) => name).join(" and ")} ${bindingVersion}`);
  await writeLockfile(staging.path, packages);
  await runTool({
    step: `install the ${backend} engine`,
    command: npm,
    args: npmArgs,
    folder: staging.path,
    ...(signal && { signal }),
  });
  // Contains the addresses that the packages came from.
  await rm(join(staging.path, "node_modules", ".package-lock.json"), { force: true });
  const buildFolder = gpuFolder(locations.folder, backend);
  await rm(buildFolder, { recursive: true, force: true });
  await rename(staging.path, buildFolder);
  const { gpuDevices: devices } = locations;
  return { kind: "binding", gpu: backend, buildFolder, ...(devices === undefined ? {} : { devices }) };
}

/** npm installs exactly what a lockfile lists, and fails if the integrity differs. */
async function writeLockfile(folder: string, packages: readonly GpuPackage[]): Promise<void> {
  const root = {
    name: "hearth-gpu-engine",
    version: bindingVersion,
    dependencies: Object.fromEntries(packages.map(({ name }) => [name, bindingVersion])),
  };
  const locked = packages.map(({ name, integrity }) => [
    `node_modules/${name}`,
    { version: bindingVersion, integrity },
  ]);
  const lockfile = {
    name: root.name,
    version: root.version,
    lockfileVersion: 3,
    requires: true,
    packages: { "": root, ...Object.fromEntries(locked) },
  };
  await mkdir(folder);
  await writeFile(join(folder, "package.json"), JSON.stringify({ ...root, private: true }));
  await writeFile(join(folder, "package-lock.json"), JSON.stringify(lockfile));
}
