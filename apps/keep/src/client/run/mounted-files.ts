import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { clientFailure } from "../client-failure.ts";
import { runtimeFolder } from "../config.ts";
import type { NamedValue } from "../read-values.ts";
import { fileFailure } from "../regular-file.ts";

export type MountedFiles = {
  /** Replaces all files at once. Returns the names that cannot be names of files. */
  readonly write: (items: readonly NamedValue[]) => readonly string[];
  /** Synchronous, so that a signal can end this process right after it. */
  readonly remove: () => void;
};

const readOnlyFile = 0o400;
const readOnlyFolder = 0o500;
const privateFolder = 0o700;
const maxNameBytes = 255;

/**
 * Files in a private folder in memory, to which the link points. Each write is a new folder, and the link changes at once,
 * so that the program never sees the files of two revisions. What a killed process left behind is removed.
 */
export function mountFiles(path: string): MountedFiles {
  const link = resolve(path);
  const base = runtimeFolder();
  removeLeftovers(base);
  assertFree(link);
  const root = inFile(base, () =>
    mkdtempSync(join(base, `keep-mount-${process.pid}-${processNamespace()}-`)),
  );
  let generation = 0;
  return {
    write(items) {
      const previous = join(root, String(generation));
      generation += 1;
      const folder = join(root, String(generation));
      inFile(folder, () => writeFolder(folder, items.filter(isUsable)));
      // The first must not replace what another process has put there in the meantime.
      inFile(link, () => (generation === 1 ? linkTo(folder, link) : replaceLink(folder, link)));
      removeFolder(previous);
      return items.filter((item) => !isUsable(item)).map(({ name }) => name);
    },
    remove() {
      if (targetOf(link)?.startsWith(`${root}/`) === true) rmSync(link, { force: true });
      for (const name of namesIn(root)) removeFolder(join(root, name));
      removeFolder(root);
    },
  };
}

function writeFolder(folder: string, items: readonly NamedValue[]): void {
  mkdirSync(folder, { mode: privateFolder });
  for (const { name, value, encoding } of items)
    writeFileSync(join(folder, name), Buffer.from(value, encoding), { mode: readOnlyFile, flag: "wx" });
  chmodSync(folder, readOnlyFolder);
}

function linkTo(folder: string, link: string): void {
  symlinkSync(folder, link, "junction");
}

function replaceLink(folder: string, link: string): void {
  const fresh = `${link}.${process.pid}`;
  linkTo(folder, fresh);
  try {
    renameSync(fresh, link);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}

function removeFolder(folder: string): void {
  if (!exists(folder)) return;
  chmodSync(folder, privateFolder);
  rmSync(folder, { recursive: true, force: true });
}

/** The server decides the names, which must not lead out of the folder. */
function isUsable({ name }: NamedValue): boolean {
  return !/[/\\\p{Cc}]/u.test(name) && ![".", ".."].includes(name) && Buffer.byteLength(name) <= maxNameBytes;
}

/** Only a link that a killed process left behind is removed. */
function assertFree(link: string): void {
  if (!exists(link)) return;
  const target = targetOf(link);
  if (target !== undefined && /\/keep-mount-[^/]+\/\d+$/u.test(target) && !exists(dirname(target)))
    return rmSync(link);
  const message = `${link} exists already`;
  const next = "pass a path at which there is nothing, which will be a link to the files";
  throw clientFailure({ kind: "usage-error", message, next });
}

const mountPattern = /^keep-mount-(?<pid>\d+)-(?<namespace>\d+)-/u;

/** Of processes that no longer exist, as seen from here: another container has process ids of its own. */
function removeLeftovers(base: string): void {
  for (const name of namesIn(base)) {
    const { pid, namespace } = mountPattern.exec(name)?.groups ?? {};
    const isLeftover = namespace === processNamespace() && !isAlive(Number(pid));
    if (!isLeftover || !isOwnFolder(join(base, name))) continue;
    for (const inner of namesIn(join(base, name))) removeFolder(join(base, name, inner));
    removeFolder(join(base, name));
  }
}

function isOwnFolder(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === (process.getuid?.() ?? stats.uid);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}

function processNamespace(): string {
  return /\d+/u.exec(targetOf("/proc/self/ns/pid") ?? "")?.[0] ?? "0";
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function inFile<Result>(file: string, action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    throw fileFailure(file, error);
  }
}
