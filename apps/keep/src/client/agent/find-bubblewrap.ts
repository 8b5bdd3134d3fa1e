import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { clientFailure } from "../client-failure.ts";

const installed = ["/usr/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
const trialMilliseconds = 5000;

/** Namespaces of its own, no capabilities, and no terminal to which it could send input. */
export const isolationArgs: readonly string[] = [
  "--unshare-all",
  "--unshare-user",
  "--cap-drop",
  "ALL",
  "--die-with-parent",
  "--new-session",
];

/** The machine's files, which cannot be written, with devices and processes of the sandbox's own. */
export const machineArgs: readonly string[] = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"];

/** Throws unless bubblewrap is installed and may create namespaces, which some containers and kernels forbid. */
export function requireBubblewrap(candidates: readonly string[] = installed): string {
  const path = candidates.find((each) => existsSync(each));
  if (path === undefined)
    throw clientFailure({ kind: "sandbox-missing", reason: "bubblewrap is not installed" });
  const { status } = spawnSync(
    path,
    [...isolationArgs, ...machineArgs, "--tmpfs", "/tmp", path, "--version"],
    {
      stdio: "ignore",
      timeout: trialMilliseconds,
    },
  );
  if (status === 0) return path;
  throw clientFailure({ kind: "sandbox-missing", reason: "bubblewrap may not create namespaces here" });
}
