import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ownFiles } from "./app-paths.ts";
import type { ServerAddress } from "./server-address.ts";

/** A server that `run` started and that still runs. */
export type BackgroundServer = {
  readonly pid: number;
  readonly url: string;
  /** When its process began: the number of one that ended is given to other programs. */
  readonly began: string;
};

/** So that later commands can end it. One that has ended meanwhile is not noted. */
export async function noteServer(address: ServerAddress, pid: number): Promise<void> {
  const began = await whenBegan(pid);
  if (began === undefined) return;
  const path = noteOf(address);
  await mkdir(ownFiles().servers, { recursive: true, mode: 0o700 });
  // It appears whole: a command that looks at the same time reads all of it or nothing.
  await writeFile(`${path}.${process.pid}`, JSON.stringify({ pid, began, url: address.url }), {
    mode: 0o600,
  });
  await rename(`${path}.${process.pid}`, path);
}

/** Undefined when none was started from here at this address, or it has ended. */
export function findNotedServer(address: ServerAddress): Promise<BackgroundServer | undefined> {
  return readNote(noteOf(address));
}

export async function listNotedServers(): Promise<readonly BackgroundServer[]> {
  const { servers } = ownFiles();
  const names = (await readdir(servers).catch(() => [])).filter((name) => name.endsWith(".json")).toSorted();
  const found = await Promise.all(names.slice(0, mostNotes).map((name) => readNote(join(servers, name))));
  return found.filter((each) => each !== undefined);
}

export async function forgetServer(address: ServerAddress): Promise<void> {
  await rm(noteOf(address), { force: true });
}

export async function isStillRunning({ pid, began }: BackgroundServer): Promise<boolean> {
  return (await whenBegan(pid)) === began;
}

const mostNotes = 100;

function noteOf({ host, port }: ServerAddress): string {
  const name = host === "localhost" ? "127.0.0.1" : host.replaceAll(/[^\w.]/gu, "_");
  return join(ownFiles().servers, `${name}-${port}.json`);
}

async function readNote(path: string): Promise<BackgroundServer | undefined> {
  try {
    const { pid, url, began } = JSON.parse(await readFile(path, "utf8"));
    if (!Number.isInteger(pid) || pid <= 1 || typeof url !== "string" || typeof began !== "string")
      return undefined;
    return (await whenBegan(pid)) === began ? { pid, url, began } : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined for a process that has ended, also for one that nobody has waited for yet. */
async function whenBegan(pid: number): Promise<string | undefined> {
  try {
    if (process.platform !== "linux") {
      const { stdout } = await promisify(execFile)("ps", ["-o", "lstart=", "-p", String(pid)]);
      return stdout.trim() || undefined;
    }
    const status = await readFile(`/proc/${pid}/stat`, "utf8");
    // By proc(5): after the name in brackets come the state and, 19 fields on, the ticks since the machine started.
    const fields = status.slice(status.lastIndexOf(")") + 2).split(" ");
    const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
    return fields[0] === "Z" || fields[0] === "X" ? undefined : `${fields[19]} ${boot}`;
  } catch {
    return undefined;
  }
}
