import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { inspectMachine } from "../sandbox/machine.ts";
import { planWorkerLaunch } from "../sandbox/plan-launch.ts";
import { createMemoryCgroup, findDelegatedCgroup, removeStaleCgroups } from "./memory-cgroup.ts";

// Ordinary folders stand in for the cgroup file system: these tests check which files are written, not the kernel's
// reaction. The real cgroups of the test machine are not ours to change.

test("a server in a cgroup named hearth-server uses the parent cgroup", async () => {
  await using root = await makeTemporaryFolder("cgroup");
  const unit = join(root.path, "system.slice/hearth.service");
  await mkdir(unit, { recursive: true });
  await writeFile(join(unit, "cgroup.subtree_control"), "cpu memory\n");
  const ownCgroups = "0::/system.slice/hearth.service/hearth-server\n";
  expect(findDelegatedCgroup(ownCgroups, root.path)).toEqual({ version: 2, folder: unit });

  const version1 = join(root.path, "memory/services");
  await mkdir(version1, { recursive: true });
  const ownVersion1 = "9:name=systemd:/x/hearth-server\n4:memory:/services/hearth-server\n0::/\n";
  expect(findDelegatedCgroup(ownVersion1, root.path)).toEqual({ version: 1, folder: version1 });
});

test("the memory controller is enabled for children if it is not yet", async () => {
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
])(
  "a cgroup that was not delegated to the server is not used, even if it is writable: %j",
  async (ownCgroups) => {
    await using root = await makeTemporaryFolder("cgroup");
    await mkdir(join(root.path, "memory/services"), { recursive: true });
    await mkdir(join(root.path, "system.slice/hearth.service"), { recursive: true });
    expect(findDelegatedCgroup(ownCgroups, root.path)).toBeUndefined();
  },
);

test.each([
  { version: 1, limit: "memory.limit_in_bytes", oomEvents: "memory.oom_control" },
  { version: 2, limit: "memory.max", oomEvents: "memory.events" },
] as const)("a worker's version $version cgroup has its limit and reports OOM kills", async (layout) => {
  await using root = await makeTemporaryFolder("cgroup");
  const cgroup = createMemoryCgroup({ version: layout.version, folder: root.path }, 12_345);
  const [name = ""] = await readdir(root.path);
  const folder = join(root.path, name);
  expect(await readFile(join(folder, layout.limit), "utf8")).toBe("12345");
  await writeFile(join(folder, layout.oomEvents), "oom 0\noom_kill 0\n");
  expect(cgroup.wasOomKilled()).toBe(false);
  await writeFile(join(folder, layout.oomEvents), "oom 1\noom_kill 1\n");
  expect(cgroup.wasOomKilled()).toBe(true);
  // The kernel removes a cgroup with its files; an ordinary folder must be emptied first.
  await rm(join(folder, layout.limit));
  await rm(join(folder, layout.oomEvents));
  await cgroup.remove();
  expect(await readdir(root.path)).toEqual([]);
});

test("cgroups of dead servers are removed, all others stay", async () => {
  await using root = await makeTemporaryFolder("cgroup");
  // Above the largest possible process id.
  const dead = 4_194_305;
  const kept = [`hearth-worker-${process.pid}-1`, "hearth-server", "other-service"];
  for (const name of [...kept, `hearth-worker-${dead}-1`]) await mkdir(join(root.path, name));
  removeStaleCgroups({ version: 2, folder: root.path });
  expect((await readdir(root.path)).toSorted()).toEqual(kept.toSorted());
});

test("a worker enters its cgroup before it starts, and does not start if it cannot", async () => {
  await using root = await makeTemporaryFolder("cgroup");
  const bare = { ...inspectMachine(), isRoot: false, bubblewrap: undefined, prlimit: undefined };
  const program = join(root.path, "worker.mjs");
  await writeFile(program, "process.exit(7)");
  const run = async (cgroupProcsPath: string) => {
    const options = {
      nodeProgram: process.execPath,
      workerProgram: program,
      modelFiles: [],
      programFolders: [],
    };
    const launch = planWorkerLaunch({ ...options, memory: { limitBytes: 1, cgroupProcsPath } }, bare);
    const child = spawn(launch.command, [...launch.args], { stdio: "ignore", env: launch.environment });
    const [exitCode] = await once(child, "exit");
    return { pid: child.pid, exitCode };
  };
  const entered = await run(join(root.path, "cgroup.procs"));
  expect(entered.exitCode).toBe(7);
  expect(await readFile(join(root.path, "cgroup.procs"), "utf8")).toBe(`${entered.pid}\n`);
  expect((await run(join(root.path, "missing/cgroup.procs"))).exitCode).not.toBe(7);
});
