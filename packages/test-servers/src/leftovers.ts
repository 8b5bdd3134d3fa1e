import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { hasVariable, parentOf, processIds, readProcessFile } from "./process-table.ts";

export type RunTrace = {
  /** The value of HEARTH_AND_KEEP_RUN in the environment of every process of the run. */
  readonly runId: string;
  /** The run's temporary folders. */
  readonly folders: readonly string[];
};

/** The leftovers of a run, one sentence each: live processes, their open ports, files in its folders. */
export function findLeftovers({ runId, folders }: RunTrace): readonly string[] {
  const own = ancestors(process.pid);
  const processes = processIds().filter(
    (pid) => !own.has(pid) && hasVariable(pid, "HEARTH_AND_KEEP_RUN", runId),
  );
  return [
    ...processes.map((pid) => `process ${pid} still runs: ${commandOf(pid)}`),
    ...listeningPorts(processes).map((port) => `port ${port} is still open`),
    ...folders
      .flatMap((folder) => readdirSync(folder))
      .map((name) => `"${name}" is still in the temporary folder`),
  ];
}

function ancestors(pid: number): ReadonlySet<number> {
  const found = new Set<number>();
  for (let next = pid; next > 1; next = parentOf(next)) found.add(next);
  return found;
}

function commandOf(pid: number): string {
  return readProcessFile(pid, "cmdline").replaceAll("\0", " ").slice(0, 200);
}

function listeningPorts(processes: readonly number[]): readonly number[] {
  const sockets = new Set(processes.flatMap(socketsOf));
  return ["tcp", "tcp6"].flatMap((table) =>
    readFileSync(`/proc/net/${table}`, "utf8")
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      // Columns: 1 local address as hex host:port, 3 state (0A is listening), 9 the socket's inode.
      .filter((columns) => columns[3] === "0A" && sockets.has(columns[9] ?? ""))
      .map((columns) => Number.parseInt(columns[1]?.split(":")[1] ?? "0", 16)),
  );
}

function socketsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((descriptor) => {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${descriptor}`))?.[1];
      return inode === undefined ? [] : [inode];
    });
  } catch {
    return [];
  }
}
