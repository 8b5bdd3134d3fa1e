import { existsSync, realpathSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { clientFailure } from "../client-failure.ts";
import { cacheFolder, configurationFolder } from "../config.ts";
import { isolationArgs, machineArgs } from "./find-bubblewrap.ts";

export type SandboxPlan = {
  readonly bubblewrap: string;
  /** The folder with the proxy's socket and its certificate, on this machine. */
  readonly sessionFolder: string;
  /** Where the program starts; it can write here. */
  readonly folder: string;
  /** Further paths that it can read, or write, although they are in a home folder or a temporary one. */
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  readonly program: string;
  readonly args: readonly string[];
};

/** Paths in the sandbox. */
const insideFolder = "/run/keep";
export const certificateFile = `${insideFolder}/session/ca.pem`;
const socketFile = `${insideFolder}/session/proxy.sock`;
/** In the program's own network, in which no other port is used. */
export const proxyPort = 3128;

/** In a clone it is TypeScript; in an installed package it is bundled next to the program. */
const forwarder = fileURLToPath(
  import.meta.url.endsWith(".ts")
    ? new URL("forwarder.ts", import.meta.url)
    : new URL("./forwarder.js", import.meta.url),
);
const insideForwarder = `${insideFolder}/forwarder.${forwarder.endsWith(".ts") ? "mts" : "mjs"}`;

/**
 * Arguments of bubblewrap. The program sees the machine's files read-only, but no home folder, temporary files or sockets
 * of other programs, such as those of the keyring, the SSH agent and Docker. Keep's own files are hidden last, so that no
 * option shows them.
 */
export function sandboxArgs(plan: SandboxPlan): readonly string[] {
  assertUsableFolder(plan.folder);
  return [
    ...isolationArgs,
    ...machineArgs,
    ...["/tmp", "/var/tmp", "/run", ...homeFolders()].flatMap(hide),
    ...plan.readable.flatMap((path) => bind("--ro-bind", path)),
    ...plan.writable.flatMap((path) => bind("--bind", path)),
    ...bind("--bind", plan.folder),
    ...[configurationFolder(), cacheFolder()].flatMap(hide),
    "--ro-bind",
    process.execPath,
    `${insideFolder}/node`,
    "--ro-bind",
    forwarder,
    insideForwarder,
    "--ro-bind",
    plan.sessionFolder,
    `${insideFolder}/session`,
    "--chdir",
    plan.folder,
    "--",
    `${insideFolder}/node`,
    insideForwarder,
    socketFile,
    String(proxyPort),
    plan.program,
    ...plan.args,
  ];
}

/** The one of the environment, and the one of the user. */
function homeFolders(): readonly string[] {
  return [...new Set([homedir(), userInfo().homedir])].filter((folder) => folder !== "/");
}

/** Behind symbolic links, because mounts do not follow them. */
function hide(path: string): readonly string[] {
  return existsSync(path) ? ["--tmpfs", realpathSync(path)] : [];
}

function bind(kind: "--bind" | "--ro-bind", path: string): readonly string[] {
  if (existsSync(path)) return [kind, path, path];
  throw clientFailure({ kind: "file-unusable", file: path, reason: "it does not exist" });
}

/** A program that can write in a home folder can change what its owner runs next. */
function assertUsableFolder(folder: string): void {
  const isWhole = ["/", ...homeFolders()].some((home) => {
    const path = relative(folder, home);
    return path === "" || !(path.startsWith("..") || path.startsWith("/"));
  });
  if (!isWhole) return;
  const message = `The program could write everywhere in ${folder}`;
  throw clientFailure({
    kind: "usage-error",
    message,
    next: "run the command in the folder of your project",
  });
}
