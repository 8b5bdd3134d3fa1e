import { dirname } from "node:path";
import type { LaunchOptions } from "./launch-options.ts";
import { type Machine, nobodyUserId } from "./machine.ts";
import { deviceGroups, listAncestors, visibleDevices, visibleFiles } from "./visible-files.ts";

/** The descriptor from which bubblewrap reads the seccomp filter. */
export const filterDescriptor = 4;
/** GPU drivers keep compiled code there; everything else leaves it empty. */
const temporaryBytes = 64 * 1024 ** 2;

/** Arguments that start a program in namespaces of its own, with nothing in its file system but what it reads. */
export function bubblewrapArgs(
  bubblewrap: string,
  options: LaunchOptions,
  context: { readonly machine: Machine; readonly hasFilter: boolean },
): readonly string[] {
  const { machine, hasFilter } = context;
  const environment = { ...options.environment, ...options.sandboxEnvironment, HOME: "/tmp" };
  return [
    bubblewrap,
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
    ...(machine.isRoot ? ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] : ["--unshare-user"]),
    "--die-with-parent",
    "--clearenv",
    ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value]),
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--perms",
    "1777",
    "--size",
    String(temporaryBytes),
    "--tmpfs",
    "/tmp",
    ...bindMountArgs(readableFiles(options, machine), options.writableFolder),
    ...visibleDevices(options, machine).flatMap(({ path }) => ["--dev-bind", path, path]),
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    // Both are in memory and would otherwise hold whatever is written to them.
    "--remount-ro",
    "/dev",
    "--remount-ro",
    "/",
    "--chdir",
    "/tmp",
    ...(hasFilter ? ["--seccomp", String(filterDescriptor)] : []),
    "--",
    ...setprivArgs(options, machine),
  ];
}

function readableFiles(options: LaunchOptions, machine: Machine): readonly string[] {
  const setpriv = machine.isRoot && machine.setpriv !== undefined ? [machine.setpriv] : [];
  return [...visibleFiles(options, machine), ...setpriv];
}

/** Creates parent folders first, because bubblewrap would create them accessible to its own user only. */
function bindMountArgs(readable: readonly string[], writable: string | undefined): readonly string[] {
  const writableFolders = writable === undefined ? [] : [writable];
  const parents = new Set(
    [...readable, ...writableFolders].flatMap((path) => listAncestors(dirname(path)).toReversed()),
  );
  parents.delete("/");
  parents.delete("/tmp");
  return [
    ...[...parents].flatMap((folder) => ["--perms", "0755", "--dir", folder]),
    ...readable.flatMap((path) => ["--ro-bind", path, path]),
    ...writableFolders.flatMap((path) => ["--bind", path, path]),
  ];
}

/** Arguments that start a program as `nobody`; none if the server is not root. */
export function setprivArgs(options: LaunchOptions, machine: Machine): readonly string[] {
  const { isRoot, setpriv } = machine;
  if (!isRoot || setpriv === undefined) return [];
  const groups = deviceGroups(options, machine);
  return [
    setpriv,
    `--reuid=${nobodyUserId}`,
    `--regid=${nobodyUserId}`,
    groups.length === 0 ? "--clear-groups" : `--groups=${groups.join(",")}`,
    "--inh-caps=-all",
    "--no-new-privs",
    "--",
  ];
}
