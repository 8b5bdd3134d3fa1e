import { inspectMachine, type Machine } from "./machine.ts";
import { runsAsNobody } from "./reject-root.ts";

/** One sentence for each protection that is not available on this machine, with the fix. */
export function missingProtections(machine: Machine = inspectMachine()): readonly string[] {
  const { isRoot, bubblewrap, restrictedStart, prlimit, cgroup, gpuDevices } = machine;
  const missing: readonly (readonly [isMissing: boolean, sentence: string])[] = [
    [
      bubblewrap === undefined && restrictedStart === undefined,
      "The worker can read files and use the network: install bubblewrap and allow it to create namespaces",
    ],
    [
      bubblewrap === undefined && restrictedStart !== undefined,
      "The worker sees which processes and files exist, although it cannot use them: install bubblewrap and allow it to create namespaces",
    ],
    [
      isRoot && !runsAsNobody(machine),
      "No model can be loaded, because it would run as root: install setpriv, or start the server as another user",
    ],
    [
      !isRoot,
      "The worker runs as the same user as the server: only a server that runs as root can change that",
    ],
    [prlimit === undefined, "A crash of the worker can leave a core dump: install prlimit"],
    [
      prlimit === undefined && cgroup === undefined,
      "The worker can use all memory: install prlimit or delegate a cgroup to the server",
    ],
    [
      prlimit !== undefined && cgroup === undefined && gpuDevices.length > 0,
      "A worker on the GPU can use all memory: delegate a cgroup to the server",
    ],
  ];
  return missing.filter(([isMissing]) => isMissing).map(([, sentence]) => sentence);
}

/** What protects the machine from a loaded model, in one line. */
export function describeProtection(machine: Machine): string {
  const { isRoot, bubblewrap, restrictedStart } = machine;
  const user = isRoot ? "as another user" : "as the same user as the server";
  if (bubblewrap !== undefined) return `sandboxed by bubblewrap and seccomp, ${user}`;
  if (restrictedStart !== undefined) return `restricted by Landlock and seccomp, ${user}`;
  return `not sandboxed, ${user}`;
}
