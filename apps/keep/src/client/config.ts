import { statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { clientFailure } from "./client-failure.ts";

/** Environment variables of the commands that call a server, for CI and containers. */
export type ClientEnvironment = {
  readonly server: string | undefined;
  readonly vault: string | undefined;
  readonly token: string | undefined;
};

export function readClientEnvironment(): ClientEnvironment {
  return {
    server: readVariable("KEEP_SERVER"),
    vault: readVariable("KEEP_VAULT"),
    token: readVariable("KEEP_TOKEN"),
  };
}

/** Where this machine's logins are, by the XDG Base Directory Specification. */
export function configurationFolder(): string {
  return join(readFolder("XDG_CONFIG_HOME", ".config"), "keep");
}

/** Where values for `keep run --offline` are. */
export function cacheFolder(): string {
  return join(readFolder("XDG_CACHE_HOME", ".cache"), "keep");
}

/** For files in memory: of this user's session, else of the machine, else temporary files. */
export function runtimeFolder(): string {
  const folder = readVariable("XDG_RUNTIME_DIR");
  if (folder?.startsWith("/") === true && isPrivate(folder)) return folder;
  return statSync("/dev/shm", { throwIfNoEntry: false })?.isDirectory() === true ? "/dev/shm" : tmpdir();
}

/** As the specification demands of it. */
function isPrivate(folder: string): boolean {
  const stats = statSync(folder, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0;
}

/** Throws when every certificate would be accepted, and with it any server in place of the one that may get a secret. */
export function assertCertificatesVerified(): void {
  if (readVariable("NODE_TLS_REJECT_UNAUTHORIZED") !== "0") return;
  const message = "NODE_TLS_REJECT_UNAUTHORIZED=0 accepts every certificate";
  throw clientFailure({
    kind: "usage-error",
    message,
    next: "unset it, and name authorities of your own in NODE_EXTRA_CA_CERTS",
  });
}

/** The environment of this process without Keep's own variables, which contain its token or the server's keys. */
export function inheritedEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("KEEP_")));
}

/** The specification ignores relative paths. */
function readFolder(variable: string, fallback: string): string {
  const folder = readVariable(variable);
  return folder?.startsWith("/") ? folder : join(homedir(), fallback);
}

function readVariable(name: string): string | undefined {
  const text = process.env[name]?.trim();
  return text === "" ? undefined : text;
}
