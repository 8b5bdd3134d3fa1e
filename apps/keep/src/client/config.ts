import { homedir } from "node:os";
import { join } from "node:path";

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
