import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LoadPlan } from "@hearth-and-keep/engine";
import {
  createMemoryCgroup,
  listModelFiles,
  type Machine,
  memoryLimitForPlan,
  nobodyUserId,
  planLaunch,
  runsAsNobody,
  waitForExit,
} from "@hearth-and-keep/engine-host";
import { createEngineClient, type EngineClient } from "../wire/engine-client.ts";
import { type LlamaServerProgram, planProgram } from "./program.ts";
import { maxConnections, planStart, type StartPlan } from "./start-plan.ts";

export type EngineProcess = {
  readonly pid: number;
  readonly start: StartPlan;
  readonly client: EngineClient;
  /** With one connection more, so that looking after it never waits behind questions. */
  readonly watchClient: EngineClient;
  /** The last lines it wrote about what went wrong, once it is gone; never shown to anybody, only searched. */
  complaints(): Promise<string>;
  kill(): void;
  /** Resolves when it is gone and everything of it is removed. */
  readonly ended: ReturnType<typeof waitForExit>;
};

export type ProcessDependencies = {
  readonly program: LlamaServerProgram;
  readonly machine: Machine;
  /** Whether a text to embed may be read in several pieces. */
  readonly splitsTexts: boolean;
};

/** Addresses for the stacks of its threads, of which few pages are ever written. */
const reservedBytes = 1024 ** 3;
const mostComplaintCharacters = 16 * 1024;
/** A path of a socket has at most 107 bytes. */
const longestFolder = 80;

/** Starts a llama-server for one model, locked in as far as the machine allows, on a socket that is ours alone. */
export async function startEngineProcess(
  plan: LoadPlan,
  { program, machine, splitsTexts }: ProcessDependencies,
): Promise<EngineProcess> {
  const folder = makePrivateFolder(machine);
  try {
    const key = randomBytes(32).toString("hex");
    const start = await planStart(plan, { socketPath: folder.socketPath, key, splitsTexts });
    if (program.kind === "llama-server") folder.write(folder.keyFile, `${key}\n`);
    const launch = await planProgram(program, start, folder.keyFile);
    const limitBytes = await memoryLimitForPlan(plan, machine.memoryBytes);
    const cgroup = machine.cgroup === undefined ? undefined : createMemoryCgroup(machine.cgroup, limitBytes);
    const {
      command,
      args: words,
      environment,
    } = planLaunch(
      {
        program: launch.program,
        args: launch.words,
        environment: launch.environment,
        programPaths: launch.places,
        modelFiles: listModelFiles(plan),
        writableFolder: folder.path,
        usesGpu: plan.gpuLayers !== 0,
        memory: { limitBytes, ...(cgroup === undefined ? {} : { cgroupProcsPath: cgroup.procsPath }) },
        reservedBytes,
      },
      machine,
    );
    const child = spawn(command, [...words], { env: environment, stdio: ["pipe", "ignore", "pipe"] });
    // A program that ends before it has read its plan is told of by its end.
    child.stdin.on("error", () => undefined);
    child.stdin.write(launch.input);
    const place = { address: { socketPath: folder.socketPath }, authorization: `Bearer ${key}` };
    const client = createEngineClient({ ...place, mostConnections: maxConnections(start.slots) });
    const watchClient = createEngineClient({ ...place, mostConnections: 1 });
    return {
      pid: child.pid ?? -1,
      start,
      client,
      watchClient,
      complaints: gatherComplaints(child),
      kill: () => void child.kill("SIGKILL"),
      ended: waitForExit(child, cgroup).finally(() => {
        client[Symbol.dispose]();
        watchClient[Symbol.dispose]();
        folder.remove();
      }),
    };
  } catch (problem) {
    folder.remove();
    throw problem;
  }
}

type PrivateFolder = {
  readonly path: string;
  readonly socketPath: string;
  readonly keyFile: string;
  write(path: string, text: string): void;
  remove(): void;
};

/** Inside a folder that only we may enter lies one that the engine's user may write in, so that nobody else reaches it. */
function makePrivateFolder(machine: Machine): PrivateFolder {
  const usual = tmpdir();
  const outer = mkdtempSync(join(usual.length > longestFolder ? "/tmp" : usual, "hearth-"));
  const path = join(outer, "e");
  mkdirSync(path, { mode: 0o700 });
  const giveAway = (place: string): void => {
    if (runsAsNobody(machine)) chownSync(place, nobodyUserId, nobodyUserId);
  };
  giveAway(path);
  return {
    path,
    socketPath: join(path, "e.sock"),
    keyFile: join(path, "key"),
    write(place, text) {
      writeFileSync(place, text, { mode: 0o400 });
      chmodSync(place, 0o400);
      giveAway(place);
    },
    remove: () => rmSync(outer, { recursive: true, force: true }),
  };
}

/** Its last words arrive after the news of its end; somebody else who holds the other end is not waited for. */
const lastWordsMilliseconds = 200;

function gatherComplaints({ stderr }: ChildProcess): () => Promise<string> {
  let text = "";
  const closed = stderr === null ? undefined : once(stderr, "close").catch(() => undefined);
  stderr?.setEncoding("utf8").on("data", (part: string) => {
    text = (text + part).slice(-mostComplaintCharacters);
  });
  return async () => {
    await Promise.race([closed, sleep(lastWordsMilliseconds, undefined, { ref: false })]);
    return text;
  };
}
