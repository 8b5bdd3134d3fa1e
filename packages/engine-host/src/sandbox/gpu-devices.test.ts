import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { findGpuDevices } from "./gpu-devices.ts";
import { lookAtMachine } from "./machine.ts";
import { planWorkerLaunch } from "./plan-launch.ts";

const wish = {
  nodeProgram: process.execPath,
  workerProgram: "worker.ts",
  modelFiles: [],
  programFolders: [],
};
const locked = {
  ...lookAtMachine(),
  isRoot: true,
  bubblewrap: "/usr/bin/bwrap",
  setpriv: "/usr/bin/setpriv",
  prlimit: "/usr/bin/prlimit",
  cgroup: undefined,
};
const withGpu = {
  ...locked,
  gpuDevices: [
    { path: "/dev/dri/renderD128", groupId: 105 },
    { path: "/dev/nvidia0", groupId: 0 },
  ],
};

test("the nodes of the common GPU drivers are found among others", async () => {
  await using folder = await makeTemporaryFolder("devices");
  const wanted = ["dri/card0", "dri/renderD128", "kfd", "nvidia-uvm", "nvidia0", "nvidiactl"];
  for (const name of [...wanted, "null", "kmsg", "dri/by-path"]) {
    await mkdir(dirname(join(folder.path, name)), { recursive: true });
    await writeFile(join(folder.path, name), "");
  }
  const found = findGpuDevices(folder.path);
  expect(found.map(({ path }) => path)).toEqual(wanted.map((name) => join(folder.path, name)));
  expect(new Set(found.map(({ groupId }) => groupId))).toEqual(new Set([process.getgid?.()]));
});

test("a machine without a GPU has no nodes to show", async () => {
  await using folder = await makeTemporaryFolder("devices");
  expect(findGpuDevices(folder.path)).toEqual([]);
  expect(findGpuDevices(join(folder.path, "missing"))).toEqual([]);
});

test("a worker that uses the GPU sees its nodes and may open them, with no other group of ours", () => {
  const { words } = planWorkerLaunch({ ...wish, usesGpu: true }, withGpu);
  const bound = words.filter((_word, index) => words[index - 1] === "--dev-bind");
  expect(bound).toEqual(["/dev/dri/renderD128", "/dev/nvidia0"]);
  expect(words).toContain("--groups=105");
  expect(words).not.toContain("--clear-groups");
});

test.each([
  { situation: "a worker that does not use the GPU", usesGpu: false, machine: withGpu },
  { situation: "a machine without one", usesGpu: true, machine: { ...locked, gpuDevices: [] } },
])("no node and no group is given for $situation", ({ usesGpu, machine }) => {
  const { words } = planWorkerLaunch({ ...wish, usesGpu }, machine);
  expect(words).not.toContain("--dev-bind");
  expect(words).toContain("--clear-groups");
  expect(words.filter((word) => word.startsWith("/sys"))).toEqual([]);
});

test("a worker on the GPU has no data limit, because its driver's reservations would count; others have", () => {
  const memory = { limitBytes: 1000 };
  const dataLimits = (usesGpu: boolean) =>
    planWorkerLaunch({ ...wish, usesGpu, memory }, withGpu).words.filter((word) =>
      word.startsWith("--data="),
    );
  expect(dataLimits(true)).toEqual([]);
  expect(dataLimits(false)).toEqual([`--data=${1000 + 640 * 1024 ** 2}`]);
});
