import { inspectMachine, type Machine } from "./machine.ts";

/** One sentence for each protection that is not available on this machine, with the fix. */
export function missingProtections(machine: Machine = inspectMachine()): readonly string[] {
  const { isRoot, bubblewrap, setpriv, prlimit, cgroup, gpuDevices } = machine;
  const missing: readonly (readonly [isMissing: boolean, sentence: string])[] = [
    [
      bubblewrap === undefined,
      "The worker can read files and use the network: install bubblewrap and allow it to create namespaces",
    ],
    [
      isRoot && (bubblewrap === undefined || setpriv === undefined),
      "The worker runs as root: install bubblewrap and setpriv, or start the server as another user",
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
