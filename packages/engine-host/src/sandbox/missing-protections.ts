import { lookAtMachine, type Machine } from "./machine.ts";

/** One plain sentence for each protection this machine lacks. */
export function missingProtections(machine: Machine = lookAtMachine()): readonly string[] {
  const { isRoot, bubblewrap, setpriv, prlimit, cgroup, gpuDevices } = machine;
  const missing: readonly (readonly [isMissing: boolean, sentence: string])[] = [
    [
      bubblewrap === undefined,
      "The worker can read files and use the network: install bubblewrap, or allow it, to lock it in",
    ],
    [
      isRoot && (bubblewrap === undefined || setpriv === undefined),
      "The worker runs as root: install bubblewrap and setpriv, or start the server as another user",
    ],
    [!isRoot, "The worker runs as the same user as the server: only root can give it one of its own"],
    [prlimit === undefined, "A crash of the worker may leave a core dump: install prlimit"],
    [
      prlimit === undefined && cgroup === undefined,
      "The worker can take all memory: install prlimit, or delegate a cgroup to the server",
    ],
    [
      prlimit !== undefined && cgroup === undefined && gpuDevices.length > 0,
      "A worker on the GPU can take all memory: delegate a cgroup to the server",
    ],
  ];
  return missing.filter(([isMissing]) => isMissing).map(([, sentence]) => sentence);
}
