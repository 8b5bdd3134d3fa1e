import { existsSync } from "node:fs";
import { sharedFileDescriptor } from "../memory/shared-file.ts";
import type { RestrictedPlan } from "../restriction/restricted-plan.ts";
import type { LaunchOptions } from "./launch-options.ts";
import { type Machine, nobodyUserId } from "./machine.ts";
import type { SeccompOptions } from "./seccomp-filter.ts";
import { deviceGroups, visibleDevices, visibleFiles } from "./visible-files.ts";

/** What programs read at startup that no folder of libraries contains. */
const systemFiles = ["/lib", "/lib64", "/etc/ssl/openssl.cnf", "/proc/meminfo", "/proc/cpuinfo"];
/** The kernel starts a program through its loader. */
const loaders = [
  "/lib64/ld-linux-x86-64.so.2",
  "/lib/ld-linux-aarch64.so.1",
  "/lib/ld-musl-x86_64.so.1",
  "/lib/ld-musl-aarch64.so.1",
];
const harmlessDevices = ["/dev/null", "/dev/zero", "/dev/urandom"];
const standardDescriptors = [0, 1, 2];

/** Arguments that start a program restricted by Landlock and seccomp, for machines without bubblewrap. */
export function restrictedArgs(
  restrictedStart: string,
  options: LaunchOptions,
  context: { readonly machine: Machine; readonly filter: SeccompOptions },
): readonly string[] {
  const { machine, filter } = context;
  const { program, args, writableFolder, channelDescriptor, sharedFile } = options;
  const plan: RestrictedPlan = {
    program,
    args,
    environment: { ...options.environment, ...options.sandboxEnvironment },
    readablePaths: [...systemFiles, ...visibleFiles(options, machine)],
    executablePaths: [program, ...loaders.filter((path) => existsSync(path))],
    devices: [...harmlessDevices, ...visibleDevices(options, machine).map(({ path }) => path)],
    descriptors: [
      ...standardDescriptors,
      ...(channelDescriptor === undefined ? [] : [channelDescriptor]),
      ...(sharedFile === undefined ? [] : [sharedFileDescriptor]),
    ],
    ...(writableFolder === undefined ? {} : { socketFolder: writableFolder }),
    ...(machine.isRoot ? { user: { id: nobodyUserId, groups: deviceGroups(options, machine) } } : {}),
    filter,
  };
  return [process.execPath, restrictedStart, JSON.stringify(plan)];
}
