import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { cleanEnvironment, searchPath } from "../config.ts";
import { root } from "../run-to-end.ts";

export type Installed = {
  readonly program: string;
  readonly summary: string;
  /** Duration of the installation alone. */
  readonly seconds: number;
};

function npm(folder: string, args: readonly string[]): void {
  execFileSync("npm", [...args, "--loglevel=error"], {
    cwd: folder,
    env: { ...cleanEnvironment(), PATH: searchPath },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

/** Packs one program and installs the tarball into an empty folder, as a user without the clone would. */
export function packAndInstall(name: string, folder: string): Installed {
  npm(join(root, "apps", name), ["pack", "--pack-destination", folder]);
  const tarball = readdirSync(folder).find((file) => file.endsWith(".tgz")) ?? "";
  const startedAt = performance.now();
  npm(folder, ["install", "--prefix", folder, `./${tarball}`]);
  const seconds = (performance.now() - startedAt) / 1000;
  const packages = installedPackages(join(folder, "node_modules"));
  const forGpu = packages.filter((each) => /cuda|vulkan|rocm|metal/.test(each));
  expect(packages).toContain(`@hearth-and-keep/${name}`);
  expect(forGpu, "GPU packages were installed").toEqual([]);
  const licences = readFileSync(
    join(folder, "node_modules/@hearth-and-keep", name, "dist/LICENSES.txt"),
    "utf8",
  );
  expect(licences, "the licence of a bundled package").toContain("typebox");
  const megabytes = folderBytes(join(folder, "node_modules")) / 1e6;
  return {
    program: join(folder, "node_modules/.bin", name),
    seconds,
    summary: `${name} ${megabytes.toFixed(1)} MB, ${packages.length} packages, ${forGpu.length} for a GPU, installed in ${seconds.toFixed(1)} s`,
  };
}

function folderBytes(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

function installedPackages(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) =>
      name.startsWith("@") ? readdirSync(join(folder, name)).map((inner) => `${name}/${inner}`) : [name],
    );
}
