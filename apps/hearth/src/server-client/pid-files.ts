import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { appPaths } from "./app-paths.ts";
import type { ServerAddress } from "./server-address.ts";

/** A running server that `hearth run` started. */
export type BackgroundServer = {
  readonly pid: number;
  readonly url: string;
  /** When the process started; tells it apart from a later process with the same PID. */
  readonly startTime: string;
};

/** Records the process so that later commands can stop it; does nothing if it has already exited. */
export async function writePidFile(address: ServerAddress, pid: number): Promise<void> {
  const startTime = await readStartTime(pid);
  if (startTime === undefined) return;
  const path = pidFilePath(address);
  await mkdir(appPaths().servers, { recursive: true, mode: 0o700 });
  // Renaming is atomic, so a concurrent command never reads a partial file.
  await writeFile(`${path}.${process.pid}`, JSON.stringify({ pid, startTime, url: address.url }), {
    mode: 0o600,
  });
  await rename(`${path}.${process.pid}`, path);
}

/** Returns undefined if no server was started at this address, or it has exited. */
export function findBackgroundServer(address: ServerAddress): Promise<BackgroundServer | undefined> {
  return readPidFile(pidFilePath(address));
}

export async function listBackgroundServers(): Promise<readonly BackgroundServer[]> {
  const { servers } = appPaths();
  const names = (await readdir(servers).catch(() => [])).filter((name) => name.endsWith(".json")).toSorted();
  const found = await Promise.all(
    names.slice(0, maxPidFiles).map((name) => readPidFile(join(servers, name))),
  );
  return found.filter((each) => each !== undefined);
}

export async function removePidFile(address: ServerAddress): Promise<void> {
  await rm(pidFilePath(address), { force: true });
}

export async function isStillRunning({ pid, startTime }: BackgroundServer): Promise<boolean> {
  return (await readStartTime(pid)) === startTime;
}

const maxPidFiles = 100;

function pidFilePath({ host, port }: ServerAddress): string {
  const name = host === "localhost" ? "127.0.0.1" : host.replaceAll(/[^\w.]/gu, "_");
  return join(appPaths().servers, `${name}-${port}.json`);
}

async function readPidFile(path: string): Promise<BackgroundServer | undefined> {
  try {
    const { pid, url, startTime } = JSON.parse(await readFile(path, "utf8"));
    if (!Number.isInteger(pid) || pid <= 1 || typeof url !== "string" || typeof startTime !== "string")
      return undefined;
    return (await readStartTime(pid)) === startTime ? { pid, url, startTime } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns undefined for a process that has exited, including zombies. */
async function readStartTime(pid: number): Promise<string | undefined> {
  try {
    if (process.platform !== "linux") {
      const { stdout } = await promisify(execFile)("ps", ["-o", "lstart=", "-p", String(pid)]);
      return stdout.trim() || undefined;
    }
    const status = await readFile(`/proc/${pid}/stat`, "utf8");
    // proc(5): the fields after the process name in parentheses start with the state; starttime is 19 fields later.
    const fields = status.slice(status.lastIndexOf(")") + 2).split(" ");
    const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
    return fields[0] === "Z" || fields[0] === "X" ? undefined : `${fields[19]} ${boot}`;
  } catch {
    return undefined;
  }
}
