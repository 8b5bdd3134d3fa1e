import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { findGpuDevices, hasSoftwareVulkan } from "./gpu-devices.ts";
import { inspectMachine } from "./machine.ts";
import { planWorkerLaunch } from "./plan-launch.ts";

const options = {
  nodeProgram: process.execPath,
  workerProgram: "worker.ts",
  modelFiles: [],
  programFolders: [],
};
const sandboxed = {
  ...inspectMachine(),
  isRoot: true,
  bubblewrap: "/usr/bin/bwrap",
  setpriv: "/usr/bin/setpriv",
  prlimit: "/usr/bin/prlimit",
  cgroup: undefined,
  hasSoftwareVulkan: false,
};
const withGpu = {
  ...sandboxed,
  gpuDevices: [
    { path: "/dev/dri/renderD128", groupId: 105 },
    { path: "/dev/nvidia0", groupId: 0 },
  ],
};

test("device nodes of the common GPU drivers are found", async () => {
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

test("a machine without a GPU has no device nodes", async () => {
  await using folder = await makeTemporaryFolder("devices");
  expect(findGpuDevices(folder.path)).toEqual([]);
  expect(findGpuDevices(join(folder.path, "missing"))).toEqual([]);
});

test("a worker that uses the GPU sees its device nodes and gets only their group", () => {
  const { args } = planWorkerLaunch({ ...options, usesGpu: true }, withGpu);
  const bound = args.filter((_arg, index) => args[index - 1] === "--dev-bind");
  expect(bound).toEqual(["/dev/dri/renderD128", "/dev/nvidia0"]);
  expect(args).toContain("--groups=105");
  expect(args).not.toContain("--clear-groups");
});

test.each([
  { situation: "a worker that does not use the GPU", usesGpu: false, machine: withGpu },
  { situation: "a machine without a GPU", usesGpu: true, machine: { ...sandboxed, gpuDevices: [] } },
])("$situation gets no device node and no group", ({ usesGpu, machine }) => {
  const { args } = planWorkerLaunch({ ...options, usesGpu }, machine);
  expect(args).not.toContain("--dev-bind");
  expect(args).toContain("--clear-groups");
  expect(args.filter((arg) => arg.startsWith("/sys"))).toEqual([]);
});

test("only workers without a GPU have a data limit, because GPU drivers reserve too much address space", () => {
  const memory = { limitBytes: 1000 };
  const dataLimits = (usesGpu: boolean) =>
    planWorkerLaunch({ ...options, usesGpu, memory }, withGpu).args.filter((arg) =>
      arg.startsWith("--data="),
    );
  expect(dataLimits(true)).toEqual([]);
  expect(dataLimits(false)).toEqual([`--data=${1000 + 640 * 1024 ** 2}`]);
});

test("a Vulkan driver that computes on the CPU is recognized by its manifest", async () => {
  await using folder = await makeTemporaryFolder("drivers");
  await mkdir(join(folder.path, "icd.d"));
  expect(hasSoftwareVulkan([folder.path, join(folder.path, "missing")])).toBe(false);
  await writeFile(join(folder.path, "icd.d", "radeon_icd.x86_64.json"), "{}");
  expect(hasSoftwareVulkan([folder.path])).toBe(false);
  await writeFile(join(folder.path, "icd.d", "lvp_icd.x86_64.json"), "{}");
  expect(hasSoftwareVulkan([folder.path])).toBe(true);
});

test("a worker on a software driver sees no device, may write code, and only it gets the driver's variables", () => {
  const software = { ...sandboxed, gpuDevices: [], hasSoftwareVulkan: true };
  const gpuEnvironment = { GGML_VK_VISIBLE_DEVICES: "0" };
  const { args, environment } = planWorkerLaunch({ ...options, usesGpu: true, gpuEnvironment }, software);
  expect(args).not.toContain("--dev-bind");
  expect(args).not.toContain("--fsize=0:0");
  expect(args.filter((arg) => arg.startsWith("/sys"))).toEqual([]);
  expect(args.join(" ")).toContain("--setenv GGML_VK_VISIBLE_DEVICES 0");
  expect(environment).toMatchObject(gpuEnvironment);
  const onProcessor = planWorkerLaunch({ ...options, usesGpu: false }, software);
  expect(onProcessor.args).toContain("--fsize=0:0");
  expect(onProcessor.args.join(" ")).not.toContain("GGML_VK_VISIBLE_DEVICES");
});
