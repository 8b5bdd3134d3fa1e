import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { recordFigure } from "@hearth-and-keep/figures";
import { ipcEnvironment, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { inspectMachine, type Machine } from "./machine.ts";
import { missingProtections } from "./missing-protections.ts";
import { planLaunch, planWorkerLaunch } from "./plan-launch.ts";

const hostile = fileURLToPath(new URL("fixtures/hostile-worker.ts", import.meta.url));
const machine = inspectMachine();
const unsandboxed: Machine = {
  ...machine,
  bubblewrap: undefined,
  setpriv: undefined,
  prlimit: undefined,
  cgroup: undefined,
  gpuDevices: [],
};

type Report = {
  readonly uid: number;
  readonly read: readonly string[];
  readonly environment: string;
  readonly execute: string;
  readonly write: string;
  readonly connect: string;
  readonly processes: number;
  readonly ownFile: string;
};

/** Runs the hostile program, sandboxed as far as this machine allows, and returns its report. */
async function runHostileWorker(on: Machine): Promise<Report> {
  await using folder = await makeTemporaryFolder("hostile");
  await chmod(folder.path, 0o755);
  const secret = join(folder.path, "secret");
  await writeFile(secret, "canary");
  const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const launch = planWorkerLaunch(
    {
      nodeProgram: process.execPath,
      workerProgram: hostile,
      modelFiles: [],
      programFolders: [dirname(hostile)],
      sandboxEnvironment: ipcEnvironment,
    },
    on,
  );
  const child = spawn(launch.command, [...launch.args], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    serialization: "advanced",
    env: launch.environment,
  });
  const exited = new AbortController();
  child.once("exit", () => exited.abort());
  const silent = AbortSignal.timeout(15_000);
  try {
    child.send({
      files: [secret, "/etc/passwd", "/proc/1/environ"],
      port: typeof address === "object" ? address?.port : 0,
      parent: process.pid,
      writable: join(dirname(hostile), "written"),
    });
    // If the worker dies or stays silent, the folder and the server still have to be cleaned up.
    const [report] = await once(child, "message", { signal: AbortSignal.any([exited.signal, silent]) });
    return report;
  } finally {
    child.kill("SIGKILL");
    server.close();
    await rm(join(dirname(hostile), "written"), { force: true });
  }
}

test("a sandboxed worker runs as another user and cannot read, write, execute or connect", async () => {
  expect(machine.bubblewrap, "bubblewrap is installed").toBeDefined();
  const report = await runHostileWorker(machine);
  const failed = [...report.read, report.environment, report.execute, report.write, report.connect];
  expect(failed.filter((result) => result === "succeeded")).toEqual([]);
  expect(report.processes).toBeLessThan(6);
  expect(report.ownFile).toBe("succeeded");
  expect(report.uid).toBe(machine.isRoot ? 65_534 : process.getuid?.());
  recordFigure({
    claim: "engine 16",
    text: `${failed.length} of ${failed.length} attempts from inside failed, user ${report.uid} instead of ${process.getuid?.()}`,
    counted: { reached: failed.length, needed: 7 },
  });
}, 30_000);

test("the same attempts succeed without the sandbox", async () => {
  const report = await runHostileWorker(unsandboxed);
  expect([report.read[0], report.execute, report.write, report.connect]).toEqual(Array(4).fill("succeeded"));
}, 30_000);

test("each missing protection is reported in a sentence", () => {
  const bare = { ...unsandboxed, isRoot: true };
  expect(missingProtections(bare)).toEqual([
    expect.stringContaining("install bubblewrap"),
    expect.stringContaining("runs as root"),
    expect.stringContaining("core dump"),
    expect.stringContaining("all memory"),
  ]);
  const worker = {
    nodeProgram: process.execPath,
    workerProgram: hostile,
    modelFiles: [],
    programFolders: [],
  };
  expect(planWorkerLaunch({ ...worker, memory: { limitBytes: 1 } }, bare).command).toBe(process.execPath);
  const complete = {
    ...bare,
    bubblewrap: "/usr/bin/bwrap",
    setpriv: "/usr/bin/setpriv",
    prlimit: "/usr/bin/prlimit",
  };
  expect(missingProtections(complete)).toEqual([]);
  expect(missingProtections({ ...complete, isRoot: false })).toEqual([expect.stringContaining("same user")]);
  const onGpu = { ...complete, gpuDevices: [{ path: "/dev/nvidia0", groupId: 0 }] };
  expect(missingProtections(onGpu)).toEqual([expect.stringContaining("worker on the GPU")]);
  const cgroup = { version: 2, folder: "/sys/fs/cgroup/hearth" } as const;
  expect(missingProtections({ ...onGpu, cgroup })).toEqual([]);
});

test("any program can be sandboxed, with its own arguments, environment and one writable folder", () => {
  const complete = {
    ...unsandboxed,
    isRoot: true,
    bubblewrap: "/usr/bin/bwrap",
    setpriv: "/usr/bin/setpriv",
  };
  const options = {
    program: "/opt/engine/server",
    args: ["--host", "/tmp/hearth-1/e/e.sock"],
    environment: { LANGUAGE: "C" },
    programPaths: ["/opt/engine"],
    modelFiles: ["/models/one.gguf"],
    writableFolder: "/tmp/hearth-1/e",
  };
  const { command, args, environment } = planLaunch(options, complete);
  const text = args.join(" ");
  expect(command).toBe("/usr/bin/bwrap");
  expect(environment).toEqual({ LANGUAGE: "C" });
  expect(text).toContain("--clearenv --setenv LANGUAGE C --setenv HOME /tmp");
  expect(text).not.toContain("NODE_CHANNEL");
  expect(text).toContain("--ro-bind /opt/engine /opt/engine --ro-bind /models/one.gguf /models/one.gguf");
  expect(text).toContain("--bind /tmp/hearth-1/e /tmp/hearth-1/e");
  expect(args.slice(-3)).toEqual(["/opt/engine/server", "--host", "/tmp/hearth-1/e/e.sock"]);
  expect(planLaunch(options, unsandboxed)).toEqual({
    command: "/opt/engine/server",
    args: options.args,
    environment: options.environment,
  });
});
