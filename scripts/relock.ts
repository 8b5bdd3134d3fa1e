import { execFileSync } from "node:child_process";
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/**
 * Recreates package-lock.json after a change of dependencies: `npm run relock`.
 *
 * Works around two bugs of npm. An install over an existing node_modules drops other platforms' packages from the
 * lock, so the lock is created in an empty folder. And `npm ci` rejects a lock without the optional packages of other
 * platforms that a partial registry mirror does not serve, so those are added by name and version; they have no
 * checksum and are never installed where their platform does not match.
 */
const root = resolve(import.meta.dirname, "..");

type Entry = {
  version?: string;
  license?: string;
  optional?: boolean;
  dev?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
};
type Lock = { packages: Record<string, Entry> };

function relock(): void {
  const folder = mkdtempSync(join(tmpdir(), "relock-"));
  try {
    for (const path of globSync(["package.json", ".npmrc", "{apps,packages}/*/{package.json,bin}"], {
      cwd: root,
    })) {
      cpSync(join(root, path), join(folder, path), { recursive: true });
    }
    npm(folder, ["install", "--package-lock-only"]);
    const path = join(folder, "package-lock.json");
    // npm has just written it, as lockfile version 3.
    const lock = JSON.parse(readFileSync(path, "utf8")) as Lock;
    const added = addOtherPlatforms(lock);
    excludePackages(lock);
    writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
    npm(folder, ["ci", "--dry-run"]);
    cpSync(path, join(root, "package-lock.json"));
    process.stdout.write(
      `${Object.keys(lock.packages).length} entries, ${added} of them for other platforms by name only\n`,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function npm(folder: string, args: readonly string[]): void {
  execFileSync("npm", [...args, "--loglevel=error"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
}

function addOtherPlatforms(lock: Lock): number {
  const missing = Object.values(lock.packages).flatMap((entry) =>
    Object.entries(entry.optionalDependencies ?? {})
      .filter(([name]) => lock.packages[`node_modules/${name}`] === undefined)
      .map(([name, version]) => ({ name, version, parent: entry })),
  );
  for (const { name, version, parent } of missing) {
    lock.packages[`node_modules/${name}`] = {
      version,
      ...platformOf(name),
      ...(parent.dev === true ? { dev: true } : {}),
      // Builds for other platforms have the licence of their project.
      ...(parent.license === undefined ? {} : { license: parent.license }),
      optional: true,
    };
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return missing.length;
}

/** npm cannot detect a GPU, and the canvas of the PDF parser draws pages, which nothing here does. */
const neverInstalled = /^node_modules\/(@node-llama-cpp\/.*(cuda|vulkan)|@napi-rs\/canvas)/;

/** With an operating system that does not exist, packages are locked but never installed. */
function excludePackages(lock: Lock): void {
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (neverInstalled.test(path)) entry.os = ["none"];
  }
}

/** These packages have their platform in their name, e.g. `@rolldown/binding-linux-arm64-musl`. */
function platformOf(name: string): Pick<Entry, "os" | "cpu" | "libc"> {
  const systems = [
    "android",
    "darwin",
    "freebsd",
    "linux",
    "openharmony",
    "win32",
    "aix",
    "netbsd",
    "openbsd",
    "sunos",
    "wasi",
  ];
  const processors = [
    "arm64",
    "arm",
    "x64",
    "ia32",
    "ppc64",
    "riscv64",
    "s390x",
    "loong64",
    "mips64el",
    "wasm32",
  ];
  const shortNames: Readonly<Record<string, string>> = { mac: "darwin", win: "win32" };
  const segments = name.split(/[-/]/).map((segment) => shortNames[segment] ?? segment);
  const system = systems.find((each) => segments.includes(each));
  const processor = processors.find((each) => segments.includes(each));
  if (system === undefined || processor === undefined)
    throw new Error(`Cannot determine the platform of "${name}" from its name`);
  return { os: [system], cpu: [processor], ...(name.includes("musl") ? { libc: ["musl"] } : {}) };
}

relock();
