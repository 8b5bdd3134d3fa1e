import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheFolder, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { isInstalled } from "./is-installed.ts";

const scripts = import.meta.dirname;

/** A clone of a repository with one dependency, which exists in two versions. */
async function makeClone() {
  const folder = await makeTemporaryFolder("clone");
  const [root, cache] = [join(folder.path, "root"), join(folder.path, "cache")];
  mkdirSync(join(root, "scripts"), { recursive: true });
  mkdirSync(cache);
  for (const name of ["with-node.sh", "is-installed.ts", "toolchain"]) {
    cpSync(join(scripts, name), join(root, "scripts", name), { recursive: true });
  }
  // The Node.js that runs this test is in the same cache.
  for (const name of readdirSync(cacheFolder).filter((each) => each.startsWith("toolchain-"))) {
    symlinkSync(join(cacheFolder, name), join(cache, name));
  }
  for (const version of ["1.0.0", "2.0.0"]) packThing(folder.path, version);
  const environment = {
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: folder.path,
    HEARTH_AND_KEEP_CACHE: cache,
    npm_config_offline: "true",
    npm_config_audit: "false",
    npm_config_update_notifier: "false",
  };
  const run = (folderPath: string, args: readonly string[]): void =>
    void execFileSync("npm", args, { cwd: folderPath, env: environment, stdio: "pipe" });
  return {
    root,
    npm: (...args: readonly string[]): void => run(root, args),
    /** Changes package.json and the lock to this version; node_modules stays as it is. */
    lockVersion(version: string): void {
      const lockFolder = join(folder.path, "lock");
      rmSync(lockFolder, { recursive: true, force: true });
      mkdirSync(lockFolder);
      const dependencies = { thing: `file:../thing-${version}.tgz` };
      const written = JSON.stringify({ name: "root", type: "module", dependencies });
      writeFileSync(join(lockFolder, "package.json"), written);
      run(lockFolder, ["install", "--package-lock-only"]);
      cpSync(lockFolder, root, { recursive: true });
    },
    /** Prepares without running a file; returns standard error, which is empty when nothing was installed. */
    prepare: (): string =>
      spawnSync("sh", ["scripts/with-node.sh"], { cwd: root, env: environment, encoding: "utf8" }).stderr,
    /** Runs a script of the clone that prints "ran"; returns the exit status and standard output. */
    runScript(...options: readonly string[]): readonly [number | null, string] {
      writeFileSync(join(root, "scripts/probe.ts"), 'process.stdout.write("ran");\n');
      const args = ["scripts/with-node.sh", ...options, "scripts/probe.ts"];
      const { status, stdout } = spawnSync("sh", args, { cwd: root, env: environment, encoding: "utf8" });
      return [status, stdout];
    },
    installedVersion: (): string =>
      JSON.parse(readFileSync(join(root, "node_modules/thing/package.json"), "utf8")).version,
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

function packThing(folder: string, version: string): void {
  const source = join(folder, `source-${version}`, "package");
  mkdirSync(source, { recursive: true });
  writeFileSync(join(source, "package.json"), JSON.stringify({ name: "thing", version }));
  execFileSync("tar", ["-czf", join(folder, `thing-${version}.tgz`), "-C", dirname(source), "package"]);
}

const installing = expect.stringContaining("Installing the locked packages\n");

test("packages are installed once, and not again after a plain npm ci", async () => {
  await using clone = await makeClone();
  clone.lockVersion("1.0.0");
  expect([clone.prepare(), clone.prepare(), clone.installedVersion()]).toEqual([installing, "", "1.0.0"]);
  clone.npm("ci");
  expect([clone.prepare(), clone.prepare()]).toEqual(["", ""]);
});

test("a changed lock is installed, even when npm itself changed node_modules in between", async () => {
  await using clone = await makeClone();
  clone.lockVersion("1.0.0");
  clone.npm("ci");
  expect(clone.prepare()).toBe("");
  clone.lockVersion("2.0.0");
  expect([clone.prepare(), clone.installedVersion()]).toEqual([installing, "2.0.0"]);
  // npm installs the other version itself and leaves the script's stamp unchanged.
  clone.npm("install", "../thing-1.0.0.tgz");
  clone.lockVersion("2.0.0");
  expect(clone.installedVersion()).toBe("1.0.0");
  expect([clone.prepare(), clone.installedVersion()]).toEqual([installing, "2.0.0"]);
  expect(clone.prepare()).toBe("");
});

test.each([
  ["a folder of a package", "node_modules/thing"],
  ["npm's record of installed packages", "node_modules/.package-lock.json"],
])("a tree that lacks %s is reinstalled", async (_item, path) => {
  await using clone = await makeClone();
  clone.lockVersion("1.0.0");
  clone.npm("ci");
  rmSync(join(clone.root, path), { recursive: true });
  expect([clone.prepare(), clone.installedVersion()]).toEqual([installing, "1.0.0"]);
  expect(clone.prepare()).toBe("");
});

test("a script that needs no packages runs even if the lock does not match package.json", async () => {
  await using clone = await makeClone();
  clone.lockVersion("1.0.0");
  const manifest = { name: "root", type: "module", dependencies: { thing: "file:../thing-2.0.0.tgz" } };
  writeFileSync(join(clone.root, "package.json"), JSON.stringify(manifest));
  expect(clone.runScript()).toEqual([1, ""]);
  expect(clone.runScript("--no-install")).toEqual([0, "ran"]);
});

test("optional packages for other platforms may be missing, those for this one may not", async () => {
  await using folder = await makeTemporaryFolder("lock");
  mkdirSync(join(folder.path, "node_modules"));
  const write = (file: string, packages: object): void =>
    writeFileSync(join(folder.path, file), JSON.stringify({ packages }));
  write("node_modules/.package-lock.json", {});
  for (const [entry, mayBeMissing] of [
    [{ optional: true, os: ["plan9"] }, true],
    [{ optional: true, os: [process.platform], cpu: ["pdp11"] }, true],
    [{ optional: true }, true],
    [{ optional: true, os: [process.platform], cpu: [process.arch] }, false],
    [{ os: ["plan9"] }, false],
    [{ dev: true }, false],
  ] as const) {
    write("package-lock.json", { "": {}, "node_modules/thing": entry });
    expect([entry, isInstalled(folder.path)]).toEqual([entry, mayBeMissing]);
  }
});
