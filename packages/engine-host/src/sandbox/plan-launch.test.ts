import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { lookAtMachine, type Machine } from "./machine.ts";
import { missingProtections } from "./missing-protections.ts";
import { planLaunch, planWorkerLaunch } from "./plan-launch.ts";

const hostile = fileURLToPath(new URL("fixtures/hostile-worker.ts", import.meta.url));
const machine = lookAtMachine();
const withoutWalls: Machine = {
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

/** Lets the hostile program try everything, locked in as far as this machine allows. */
async function letItTry(on: Machine): Promise<Report> {
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
    },
    on,
  );
  const child = spawn(launch.command, [...launch.words], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    serialization: "advanced",
    env: launch.environment,
  });
  const died = new AbortController();
  child.once("exit", () => died.abort());
  const silent = AbortSignal.timeout(15_000);
  try {
    child.send({
      files: [secret, "/etc/passwd", "/proc/1/environ"],
      port: typeof address === "object" ? address?.port : 0,
      parent: process.pid,
      writable: join(dirname(hostile), "written"),
    });
    // One that dies or says nothing must not keep the folder and the server from being cleaned up.
    const [report] = await once(child, "message", { signal: AbortSignal.any([died.signal, silent]) });
    return report;
  } finally {
    child.kill("SIGKILL");
    server.close();
    await rm(join(dirname(hostile), "written"), { force: true });
  }
}

test("a worker that is locked in reads, writes, executes and reaches nothing, as another user", async () => {
  expect(machine.bubblewrap, "bubblewrap is installed").toBeDefined();
  const report = await letItTry(machine);
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

test("the same tries succeed without the walls, so they are real", async () => {
  const report = await letItTry(withoutWalls);
  expect([report.read[0], report.execute, report.write, report.connect]).toEqual(Array(4).fill("succeeded"));
}, 30_000);

test("each protection a machine lacks is named in a sentence", () => {
  const bare = { ...withoutWalls, isRoot: true };
  expect(missingProtections(bare)).toEqual([
    expect.stringContaining("install bubblewrap"),
    expect.stringContaining("runs as root"),
    expect.stringContaining("core dump"),
    expect.stringContaining("all memory"),
  ]);
  const wish = { nodeProgram: process.execPath, workerProgram: hostile, modelFiles: [], programFolders: [] };
  expect(planWorkerLaunch({ ...wish, memory: { limitBytes: 1 } }, bare).command).toBe(process.execPath);
  const whole = {
    ...bare,
    bubblewrap: "/usr/bin/bwrap",
    setpriv: "/usr/bin/setpriv",
    prlimit: "/usr/bin/prlimit",
  };
  expect(missingProtections(whole)).toEqual([]);
  expect(missingProtections({ ...whole, isRoot: false })).toEqual([expect.stringContaining("same user")]);
  const onGpu = { ...whole, gpuDevices: [{ path: "/dev/nvidia0", groupId: 0 }] };
  expect(missingProtections(onGpu)).toEqual([expect.stringContaining("worker on the GPU")]);
  const cgroup = { version: 2, folder: "/sys/fs/cgroup/hearth" } as const;
  expect(missingProtections({ ...onGpu, cgroup })).toEqual([]);
});

test("any program can be locked in: its words, its environment, one folder to write in, and nothing of the worker's", () => {
  const whole = { ...withoutWalls, isRoot: true, bubblewrap: "/usr/bin/bwrap", setpriv: "/usr/bin/setpriv" };
  const wish = {
    program: "/opt/engine/server",
    words: ["--host", "/tmp/hearth-1/e/e.sock"],
    environment: { LANGUAGE: "C" },
    programPlaces: ["/opt/engine"],
    modelFiles: ["/models/one.gguf"],
    writableFolder: "/tmp/hearth-1/e",
  };
  const { command, words, environment } = planLaunch(wish, whole);
  const text = words.join(" ");
  expect(command).toBe("/usr/bin/bwrap");
  expect(environment).toEqual({ LANGUAGE: "C" });
  expect(text).toContain("--clearenv --setenv LANGUAGE C --setenv HOME /tmp");
  expect(text).not.toContain("NODE_CHANNEL");
  expect(text).toContain("--ro-bind /opt/engine /opt/engine --ro-bind /models/one.gguf /models/one.gguf");
  expect(text).toContain("--bind /tmp/hearth-1/e /tmp/hearth-1/e");
  expect(words.slice(-3)).toEqual(["/opt/engine/server", "--host", "/tmp/hearth-1/e/e.sock"]);
  expect(planLaunch(wish, withoutWalls)).toEqual({
    command: "/opt/engine/server",
    words: wish.words,
    environment: wish.environment,
  });
});
