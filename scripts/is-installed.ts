import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What both files of npm say of a package, by the folder it lies in. */
type Packages = Readonly<Record<string, LockedPackage>>;
type LockedPackage = {
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
};

/**
 * Whether what npm has noted as installed is what the lock wants, package by package, and lies there. Doubt is no: the
 * caller installs again. Without anything installed this runs too, so it uses nothing but Node.
 */
export function isInstalled(root: string): boolean {
  const locked = readPackages(join(root, "package-lock.json"));
  // npm writes it when it is done, so a cut-off installation has none.
  const installed = readPackages(join(root, "node_modules/.package-lock.json"));
  if (locked === undefined || installed === undefined) return false;
  const wanted = Object.entries(locked).filter(([folder]) => folder !== "");
  return (
    Object.keys(installed).every((folder) => folder in locked && existsSync(join(root, folder))) &&
    wanted.every(([folder, entry]) =>
      folder in installed ? isSame(entry, installed[folder]) : mayBeMissing(entry),
    )
  );
}

function readPackages(path: string): Packages | undefined {
  try {
    // Written by npm; what is not so is not the same as the other either.
    return (JSON.parse(readFileSync(path, "utf8")) as { readonly packages?: Packages }).packages;
  } catch {
    return undefined;
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** For another system, or only needed by what is for another one. */
function mayBeMissing({ optional = false, os, cpu, libc }: LockedPackage): boolean {
  const isOfHere =
    (os === undefined || os.includes(process.platform)) &&
    (cpu === undefined || cpu.includes(process.arch)) &&
    (libc === undefined || libc.includes("glibc"));
  const isOfAnySystem = os === undefined && cpu === undefined;
  return optional && (!isOfHere || isOfAnySystem);
}

if (import.meta.main) process.exitCode = isInstalled(process.argv[2] ?? "") ? 0 : 1;
