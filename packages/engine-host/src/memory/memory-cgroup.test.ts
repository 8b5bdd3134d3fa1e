import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { lookAtMachine } from "../sandbox/machine.ts";
import { planWorkerLaunch } from "../sandbox/plan-launch.ts";
import { findDelegatedCgroup, openMemoryCgroup, removeStaleCgroups } from "./memory-cgroup.ts";

// Ordinary folders stand in for the kernel's here: what is written where is tested, not what the kernel makes of it.
// The cgroups of the machine a test runs on belong to whoever started the test.

test("a server started in a cgroup of its own name divides the one above it", async () => {
  await using root = await makeTemporaryFolder("cgroup");
  const unit = join(root.path, "system.slice/hearth.service");
  await mkdir(unit, { recursive: true });
  await writeFile(join(unit, "cgroup.subtree_control"), "cpu memory\n");
  const own = "0::/system.slice/hearth.service/hearth-server\n";
  expect(findDelegatedCgroup(own, root.path)).toEqual({ version: 2, folder: unit });

  const old = join(root.path, "memory/services");
  await mkdir(old, { recursive: true });
  const oldOwn = "9:name=systemd:/x/hearth-server\n4:memory:/services/hearth-server\n0::/\n";
  expect(findDelegatedCgroup(oldOwn, root.path)).toEqual({ version: 1, folder: old });
});

test("a memory controller that is not switched on below is switched on", async () => {
  await using root = await makeTemporaryFolder("cgroup");
  await writeFile(join(root.path, "cgroup.subtree_control"), "cpu\n");
  expect(findDelegatedCgroup("0::/hearth-server\n", root.path)).toBeDefined();
  expect(await readFile(join(root.path, "cgroup.subtree_control"), "utf8")).toBe("+memory");
});

test.each([
  "0::/system.slice/hearth.service\n",
  "4:memory:/\n0::/\n",
  "4:memory:/user.slice/session-1\n0::/\n",
  "3:cpu:/services/hearth-server\n",
  "0::/nowhere/hearth-server\n",
  "",
])("a cgroup nobody gave to the server is left alone, however writable it is: %j", async (own) => {
  await using root = await makeTemporaryFolder("cgroup");
  await mkdir(join(root.path, "memory/services"), { recursive: true });
  await mkdir(join(root.path, "system.slice/hearth.service"), { recursive: true });
  expect(findDelegatedCgroup(own, root.path)).toBeUndefined();
});

test.each([
  { version: 1, limit: "memory.limit_in_bytes", deaths: "memory.oom_control" },
  { version: 2, limit: "memory.max", deaths: "memory.events" },
] as const)("a worker's cgroup of version $version has its limit and tells of deaths", async (layout) => {
  await using root = await makeTemporaryFolder("cgroup");
  const cgroup = openMemoryCgroup({ version: layout.version, folder: root.path }, 12_345);
  const [name = ""] = await readdir(root.path);
  const folder = join(root.path, name);
  expect(await readFile(join(folder, layout.limit), "utf8")).toBe("12345");
  await writeFile(join(folder, layout.deaths), "oom 0\noom_kill 0\n");
  expect(cgroup.ranOut()).toBe(false);
  await writeFile(join(folder, layout.deaths), "oom 1\noom_kill 1\n");
  expect(cgroup.ranOut()).toBe(true);
  // The kernel's folders go with what is in them; ours must be emptied first.
  await rm(join(folder, layout.limit));
  await rm(join(folder, layout.deaths));
  await cgroup.remove();
  expect(await readdir(root.path)).toEqual([]);
});

test("cgroups of servers that are gone are removed, those of living ones and of others stay", async () => {
  await using root = await makeTemporaryFolder("cgroup");
  // Above the largest id a process can have.
  const dead = 4_194_305;
  const staying = [`hearth-worker-${process.pid}-1`, "hearth-server", "other-service"];
  for (const name of [...staying, `hearth-worker-${dead}-1`]) await mkdir(join(root.path, name));
  removeStaleCgroups({ version: 2, folder: root.path });
  expect((await readdir(root.path)).toSorted()).toEqual(staying.toSorted());
});

test("a worker enters its cgroup before it starts, and one that cannot enter does not start", async () => {
  await using root = await makeTemporaryFolder("cgroup");
  const bare = { ...lookAtMachine(), bubblewrap: undefined, prlimit: undefined };
  const program = join(root.path, "worker.mjs");
  await writeFile(program, "process.exit(7)");
  const run = async (cgroupEntrance: string) => {
    const wish = {
      nodeProgram: process.execPath,
      workerProgram: program,
      modelFiles: [],
      programFolders: [],
    };
    const launch = planWorkerLaunch({ ...wish, memory: { limitBytes: 1, cgroupEntrance } }, bare);
    const child = spawn(launch.command, [...launch.words], { stdio: "ignore", env: launch.environment });
    const [exitCode] = await once(child, "exit");
    return { pid: child.pid, exitCode };
  };
  const entered = await run(join(root.path, "cgroup.procs"));
  expect(entered.exitCode).toBe(7);
  expect(await readFile(join(root.path, "cgroup.procs"), "utf8")).toBe(`${entered.pid}\n`);
  expect((await run(join(root.path, "missing/cgroup.procs"))).exitCode).not.toBe(7);
});
