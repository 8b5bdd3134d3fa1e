import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Entries of package-lock.json and of npm's record of installed packages, by folder. */
type Packages = Readonly<Record<string, LockedPackage>>;
type LockedPackage = {
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
};

/**
 * Whether the packages that npm recorded as installed match the lock, package by package, and are on disk. When in
 * doubt it returns false, and the caller reinstalls. Runs before anything is installed, so it uses only Node.
 */
export function isInstalled(root: string): boolean {
  const locked = readPackages(join(root, "package-lock.json"));
  // npm writes this file last, so an interrupted installation has none.
  const installed = readPackages(join(root, "node_modules/.package-lock.json"));
  if (locked === undefined || installed === undefined) return false;
  const expected = Object.entries(locked).filter(([folder]) => folder !== "");
  return (
    Object.keys(installed).every((folder) => folder in locked && existsSync(join(root, folder))) &&
    expected.every(([folder, entry]) =>
      folder in installed ? isSame(entry, installed[folder]) : mayBeMissing(entry),
    )
  );
}

function readPackages(path: string): Packages | undefined {
  try {
    // Written by npm; a malformed entry does not equal its counterpart.
    return (JSON.parse(readFileSync(path, "utf8")) as { readonly packages?: Packages }).packages;
  } catch {
    return undefined;
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Optional packages for another platform, or needed only by such a package, may be missing. */
function mayBeMissing({ optional = false, os, cpu, libc }: LockedPackage): boolean {
  const isForThisPlatform =
    (os === undefined || os.includes(process.platform)) &&
    (cpu === undefined || cpu.includes(process.arch)) &&
    (libc === undefined || libc.includes("glibc"));
  const isForAnyPlatform = os === undefined && cpu === undefined;
  return optional && (!isForThisPlatform || isForAnyPlatform);
}

if (import.meta.main) process.exitCode = isInstalled(process.argv[2] ?? "") ? 0 : 1;
