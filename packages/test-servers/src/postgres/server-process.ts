import { findFreePort } from "../loopback-port.ts";
import { type OwnedProcess, startProcess } from "../owned-process.ts";
import type { Cluster } from "./initialize-cluster.ts";

export type ServerPlan = {
  readonly program: string;
  readonly cluster: Pick<Cluster, "dataFolder" | "account">;
  readonly settings: Readonly<Record<string, string>>;
  readonly findPort?: () => Promise<number>;
};

export type ServerProcess = AsyncDisposable & {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
  crash(): Promise<void>;
  startAgain(): Promise<void>;
};

const portAttempts = 5;

export async function startServerProcess(plan: ServerPlan): Promise<ServerProcess> {
  const { port, first } = await startOnFreePort(plan);
  let latest = first;
  let isRunning = false;
  const watch = (started: OwnedProcess): void => {
    const markStopped = (): void => {
      isRunning = false;
    };
    latest = started;
    isRunning = true;
    started.exited.then(markStopped, markStopped);
  };
  watch(first);
  return {
    port,
    get pid() {
      return latest.pid;
    },
    stop: () => latest.stop(),
    async crash() {
      // The postmaster forwards SIGQUIT; all processes exit at once without a checkpoint, and the next start recovers
      // from the log. SIGKILL would leave its backends and a shared memory segment behind.
      if (isRunning) process.kill(latest.pid, "SIGQUIT");
      await latest.exited;
    },
    async startAgain() {
      if (isRunning) throw new Error("Cannot start PostgreSQL again: it is still running");
      watch(await startOnPort(plan, port));
    },
    [Symbol.asyncDispose]: () => latest.stop(),
  };
}

async function startOnFreePort(plan: ServerPlan): Promise<{ port: number; first: OwnedProcess }> {
  const findPort = plan.findPort ?? findFreePort;
  for (let attempt = 1; ; attempt += 1) {
    const port = await findPort();
    try {
      return { port, first: await startOnPort(plan, port) };
    } catch (error) {
      if (attempt === portAttempts || !isAddressInUse(error)) throw error;
    }
  }
}

function startOnPort(plan: ServerPlan, port: number): Promise<OwnedProcess> {
  const settings = {
    ...plan.settings,
    port: String(port),
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    // Readiness and "address in use" are read from the log, so it stays on standard error and in English.
    logging_collector: "off",
    log_destination: "stderr",
    lc_messages: "C",
    // Stored in the data folder, so that a crash leaves nothing in /dev/shm.
    dynamic_shared_memory_type: "mmap",
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return startProcess({
    command: plan.program,
    arguments: ["-D", plan.cluster.dataFolder, ...args],
    folder: plan.cluster.dataFolder,
    isReady: (output) => output.includes("database system is ready to accept connections"),
    // SIGTERM waits until every client has disconnected; SIGINT disconnects them.
    stopSignal: "SIGINT",
    ...(plan.cluster.account === undefined ? {} : { user: plan.cluster.account }),
  });
}

function isAddressInUse(error: unknown): boolean {
  return error instanceof Error && error.message.includes("Address already in use");
}
