import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheFolder, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { isInstalled } from "./is-installed.ts";

const scripts = import.meta.dirname;

/** A clone of a repository that needs one package, which lies beside it in two versions. */
async function makeClone() {
  const folder = await makeTemporaryFolder("clone");
  const [root, cache] = [join(folder.path, "root"), join(folder.path, "cache")];
  mkdirSync(join(root, "scripts"), { recursive: true });
  mkdirSync(cache);
  for (const name of ["with-node.sh", "is-installed.ts", "toolchain"]) {
    cpSync(join(scripts, name), join(root, "scripts", name), { recursive: true });
  }
  // The Node that runs this test came from there.
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
  const run = (place: string, words: readonly string[]): void =>
    void execFileSync("npm", words, { cwd: place, env: environment, stdio: "pipe" });
  return {
    root,
    npm: (...words: readonly string[]): void => run(root, words),
    /** Asks for a version, in the lock too; what is installed stays as it is. */
    want(version: string): void {
      const beside = join(folder.path, "lock");
      rmSync(beside, { recursive: true, force: true });
      mkdirSync(beside);
      const dependencies = { thing: `file:../thing-${version}.tgz` };
      const written = JSON.stringify({ name: "root", type: "module", dependencies });
      writeFileSync(join(beside, "package.json"), written);
      run(beside, ["install", "--package-lock-only"]);
      cpSync(beside, root, { recursive: true });
    },
    /** What the script says when it prepares; empty when everything is there. */
    prepare: (): string =>
      spawnSync("sh", ["scripts/with-node.sh"], { cwd: root, env: environment, encoding: "utf8" }).stderr,
    version: (): string =>
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
  clone.want("1.0.0");
  expect([clone.prepare(), clone.prepare(), clone.version()]).toEqual([installing, "", "1.0.0"]);
  clone.npm("ci");
  expect([clone.prepare(), clone.prepare()]).toEqual(["", ""]);
});

test("another lock is installed, also when npm had put the same packages there by another one before", async () => {
  await using clone = await makeClone();
  clone.want("1.0.0");
  clone.npm("ci");
  expect(clone.prepare()).toBe("");
  clone.want("2.0.0");
  expect([clone.prepare(), clone.version()]).toEqual([installing, "2.0.0"]);
  // The packages of the other lock come by npm itself, which leaves the script's mark where it is.
  clone.npm("install", "../thing-1.0.0.tgz");
  clone.want("2.0.0");
  expect(clone.version()).toBe("1.0.0");
  expect([clone.prepare(), clone.version()]).toEqual([installing, "2.0.0"]);
  expect(clone.prepare()).toBe("");
});

test.each([
  ["a folder of a package", "node_modules/thing"],
  ["npm's own note of what it installed", "node_modules/.package-lock.json"],
])("a tree that lacks %s is installed anew", async (_what, place) => {
  await using clone = await makeClone();
  clone.want("1.0.0");
  clone.npm("ci");
  rmSync(join(clone.root, place), { recursive: true });
  expect([clone.prepare(), clone.version()]).toEqual([installing, "1.0.0"]);
  expect(clone.prepare()).toBe("");
});

test("packages for other systems may be missing, and those for this one may not", async () => {
  await using folder = await makeTemporaryFolder("lock");
  mkdirSync(join(folder.path, "node_modules"));
  const write = (file: string, packages: object): void =>
    writeFileSync(join(folder.path, file), JSON.stringify({ packages }));
  write("node_modules/.package-lock.json", {});
  for (const [entry, isMissingWell] of [
    [{ optional: true, os: ["plan9"] }, true],
    [{ optional: true, os: [process.platform], cpu: ["pdp11"] }, true],
    [{ optional: true }, true],
    [{ optional: true, os: [process.platform], cpu: [process.arch] }, false],
    [{ os: ["plan9"] }, false],
    [{ dev: true }, false],
  ] as const) {
    write("package-lock.json", { "": {}, "node_modules/thing": entry });
    expect([entry, isInstalled(folder.path)]).toEqual([entry, isMissingWell]);
  }
});
