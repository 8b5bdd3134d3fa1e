import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LoadPlan } from "@hearth-and-keep/engine";
import {
  createMemoryCgroup,
  killLaunch,
  listModelFiles,
  type Machine,
  memoryLimitForPlan,
  nobodyUserId,
  planLaunch,
  runsAsNobody,
  spawnLaunch,
  waitForExit,
} from "@hearth-and-keep/engine-host";
import { createEngineClient, type EngineClient } from "../wire/engine-client.ts";
import { type LlamaServerProgram, planProgram } from "./program.ts";
import { maxConnections, planStart, type StartPlan } from "./start-plan.ts";

export type EngineProcess = {
  readonly pid: number;
  readonly start: StartPlan;
  readonly client: EngineClient;
  /** Has its own connection, so that health checks never wait behind requests. */
  readonly watchClient: EngineClient;
  /** The end of its standard error output, after it has exited. Only searched for known errors, never shown. */
  stderrTail(): Promise<string>;
  kill(): void;
  /** Resolves when it has exited and its resources are removed. */
  readonly exited: ReturnType<typeof waitForExit>;
};

export type ProcessDependencies = {
  readonly program: LlamaServerProgram;
  readonly machine: Machine;
  /** Whether a text to embed can be processed in several batches. */
  readonly splitsTexts: boolean;
};

/** Address space for its thread stacks, of which few pages are ever written. */
const reservedBytes = 1024 ** 3;
const maxStderrCharacters = 16 * 1024;
/** A socket path has at most 107 bytes. */
const maxFolderLength = 80;

/** Starts a llama-server for one model, sandboxed as far as the machine allows, on a private socket. */
export async function startEngineProcess(
  plan: LoadPlan,
  { program, machine, splitsTexts }: ProcessDependencies,
): Promise<EngineProcess> {
  const folder = createPrivateFolder(machine);
  try {
    const key = randomBytes(32).toString("hex");
    const start = await planStart(plan, { socketPath: folder.socketPath, key, splitsTexts });
    if (program.kind === "llama-server") folder.write(folder.keyFile, `${key}\n`);
    const launch = await planProgram(program, start, folder.keyFile);
    const limitBytes = await memoryLimitForPlan(plan, machine.memoryBytes);
    const cgroup = machine.cgroup === undefined ? undefined : createMemoryCgroup(machine.cgroup, limitBytes);
    const sandboxed = planLaunch(
      {
        program: launch.program,
        args: launch.args,
        environment: launch.environment,
        programPaths: launch.readablePaths,
        modelFiles: listModelFiles(plan),
        writableFolder: folder.path,
        usesGpu: plan.gpuLayers !== 0 && machine.gpuDevices.length > 0,
        memory: { limitBytes, ...(cgroup === undefined ? {} : { cgroupProcsPath: cgroup.procsPath }) },
        reservedBytes,
      },
      machine,
    );
    const child = spawnLaunch(sandboxed, ["pipe", "ignore", "pipe"]);
    // A program that exits before it has read its plan is reported by `exited`.
    child.stdin?.on("error", () => undefined);
    child.stdin?.write(launch.input);
    const connection = { address: { socketPath: folder.socketPath }, authorization: `Bearer ${key}` };
    const client = createEngineClient({ ...connection, maxConnections: maxConnections(start.slots) });
    const watchClient = createEngineClient({ ...connection, maxConnections: 1 });
    return {
      pid: child.pid ?? -1,
      start,
      client,
      watchClient,
      stderrTail: collectStderr(child),
      kill: () => killLaunch(child),
      exited: waitForExit(child, cgroup).finally(() => {
        client[Symbol.dispose]();
        watchClient[Symbol.dispose]();
        folder.remove();
      }),
    };
  } catch (error) {
    folder.remove();
    throw error;
  }
}

type PrivateFolder = {
  readonly path: string;
  readonly socketPath: string;
  readonly keyFile: string;
  write(path: string, text: string): void;
  remove(): void;
};

/**
 * A folder writable by the engine's user, inside one that only our own user can enter, so that no one else has access.
 */
function createPrivateFolder(machine: Machine): PrivateFolder {
  const systemFolder = tmpdir();
  const outer = mkdtempSync(join(systemFolder.length > maxFolderLength ? "/tmp" : systemFolder, "hearth-"));
  const path = join(outer, "e");
  mkdirSync(path, { mode: 0o700 });
  const chownToEngine = (target: string): void => {
    if (runsAsNobody(machine)) chownSync(target, nobodyUserId, nobodyUserId);
  };
  chownToEngine(path);
  return {
    path,
    socketPath: join(path, "e.sock"),
    keyFile: join(path, "key"),
    write(target, text) {
      writeFileSync(target, text, { mode: 0o400 });
      chmodSync(target, 0o400);
      chownToEngine(target);
    },
    remove: () => rmSync(outer, { recursive: true, force: true }),
  };
}

/** Its last output can arrive after its exit. The wait is bounded, because another process may hold the pipe open. */
const stderrDrainMilliseconds = 200;

function collectStderr({ stderr }: ChildProcess): () => Promise<string> {
  let text = "";
  const closed = stderr === null ? undefined : once(stderr, "close").catch(() => undefined);
  stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    text = (text + chunk).slice(-maxStderrCharacters);
  });
  return async () => {
    await Promise.race([closed, sleep(stderrDrainMilliseconds, undefined, { ref: false })]);
    return text;
  };
}
