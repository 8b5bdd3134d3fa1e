import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { inspectMachine, type Machine } from "./machine.ts";
import { missingProtections } from "./missing-protections.ts";
import { planLaunch, planWorkerLaunch } from "./plan-launch.ts";

const worker = {
  nodeProgram: process.execPath,
  workerProgram: fileURLToPath(import.meta.url),
  modelFiles: [],
  programFolders: [],
};
const unsandboxed: Machine = {
  ...inspectMachine(),
  isRoot: false,
  bubblewrap: undefined,
  setpriv: undefined,
  prlimit: undefined,
  restrictedStart: undefined,
  cgroup: undefined,
  gpuDevices: [],
  hasSoftwareVulkan: false,
};

test("each missing protection is reported in a sentence", () => {
  const bare = { ...unsandboxed, isRoot: true };
  expect(missingProtections(bare)).toEqual([
    expect.stringContaining("can read files and use the network: install bubblewrap"),
    expect.stringContaining("No model can be loaded"),
    expect.stringContaining("core dump"),
    expect.stringContaining("all memory"),
  ]);
  const complete = {
    ...bare,
    bubblewrap: "/usr/bin/bwrap",
    setpriv: "/usr/bin/setpriv",
    prlimit: "/usr/bin/prlimit",
  };
  expect(missingProtections(complete)).toEqual([]);
  const restricted = { ...complete, bubblewrap: undefined, restrictedStart: "/opt/run-restricted.js" };
  expect(missingProtections(restricted)).toEqual([
    expect.stringContaining("which processes and files exist"),
  ]);
  expect(missingProtections({ ...complete, isRoot: false })).toEqual([expect.stringContaining("same user")]);
  const onGpu = { ...complete, gpuDevices: [{ path: "/dev/nvidia0", groupId: 0 }] };
  expect(missingProtections(onGpu)).toEqual([expect.stringContaining("worker on the GPU")]);
  const cgroup = { version: 2, folder: "/sys/fs/cgroup/hearth" } as const;
  expect(missingProtections({ ...onGpu, cgroup })).toEqual([]);
});

test("a model is never started as root, and the failure says what to do", () => {
  const asRoot = { ...unsandboxed, isRoot: true };
  expect(() => planWorkerLaunch(worker, asRoot)).toThrow("sandbox-unavailable");
  expect(() => planWorkerLaunch(worker, { ...asRoot, bubblewrap: "/usr/bin/bwrap" })).toThrow(
    "sandbox-unavailable",
  );
  expect(planWorkerLaunch(worker, unsandboxed).args).toEqual([worker.workerProgram]);
});

test("without bubblewrap, files that other users cannot read are reported before anything starts", async () => {
  await using folder = await makeTemporaryFolder("readable");
  await chmod(folder.path, 0o755);
  const model = join(folder.path, "store/model.gguf");
  await mkdir(dirname(model));
  await writeFile(model, "");
  const options = { program: "/bin/true", args: [], environment: {}, programPaths: [], modelFiles: [model] };
  const asRoot = { ...unsandboxed, isRoot: true, setpriv: "/usr/bin/setpriv" };
  expect(planLaunch(options, asRoot).args).toContain("--reuid=65534");
  await chmod(dirname(model), 0o700);
  expect(() => planLaunch(options, asRoot)).toThrow("sandbox-unavailable");
  expect(planLaunch(options, { ...asRoot, bubblewrap: "/usr/bin/bwrap" }).command).toBe("/usr/bin/bwrap");
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
