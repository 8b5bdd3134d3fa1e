import { readFileSync } from "node:fs";
import { parse as parseToml } from "smol-toml";
import { InvalidValueError, type Setting } from "./setting.ts";

export type Settings = Readonly<Record<string, Setting<unknown>>>;

export type ValuesOf<Declared extends Settings> = {
  readonly [key in keyof Declared]: Declared[key] extends Setting<infer Value> ? Value : never;
};

export type Sources = {
  /** Prefix of the environment variables: HEARTH or KEEP. */
  readonly prefix: string;
  /** By setting key, as the command-line parser returns them. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Path of a TOML file. */
  readonly filePath?: string | undefined;
};

/** Every invalid setting, one message each. */
export class SettingsError extends Error {
  readonly messages: readonly string[];

  constructor(messages: readonly string[]) {
    super(messages.join("\n"));
    this.name = "SettingsError";
    this.messages = messages;
  }
}

type SourceValue = { readonly text: string; readonly source: string };

/** Flags override the environment, the environment the file, and the file the defaults. */
export function readSettings<Declared extends Settings>(
  declared: Declared,
  sources: Sources,
): ValuesOf<Declared> {
  const messages: string[] = [];
  const file = readFile(sources.filePath, messages);
  reportUnknownKeys(file, { declared, messages, filePath: sources.filePath });
  const values: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(declared)) {
    const value = findSourceValue(key, { setting, sources, file, messages });
    try {
      values[key] = value === undefined ? setting.defaultValue : setting.parse(value.text);
    } catch (error) {
      if (!(error instanceof InvalidValueError)) throw error;
      messages.push(`${value?.source} ${error.message}`);
    }
  }
  if (messages.length > 0) throw new SettingsError(messages);
  // Every declared key was parsed or reported above.
  return Object.freeze(values) as ValuesOf<Declared>;
}

export function flagName(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

export function environmentName(prefix: string, key: string): string {
  return `${prefix}_${fileKey(key).toUpperCase()}`;
}

export function fileKey(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

type File = Readonly<Record<string, unknown>>;

function readFile(path: string | undefined, messages: string[]): File {
  if (path === undefined) return {};
  try {
    return parseToml(readFileSync(path, "utf8"));
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : "";
    messages.push(`--config: cannot read "${path}": ${reason}`);
    return {};
  }
}

function reportUnknownKeys(
  file: File,
  found: { declared: Settings; messages: string[]; filePath: string | undefined },
): void {
  const known = new Set(Object.keys(found.declared).map(fileKey));
  for (const key of Object.keys(file)) {
    if (!known.has(key)) found.messages.push(`${found.filePath}: unknown setting "${key}"`);
  }
}

function findSourceValue(
  key: string,
  from: { setting: Setting<unknown>; sources: Sources; file: File; messages: string[] },
): SourceValue | undefined {
  const { sources, file } = from;
  const flag = sources.flags[key];
  if (flag !== undefined) return { text: String(flag), source: flagName(key) };
  const name = environmentName(sources.prefix, key);
  const variable = sources.environment[name];
  if (variable !== undefined && variable !== "") return { text: variable, source: name };
  const secret = from.setting.isSecret ? readSecretFile(name, from) : undefined;
  if (secret !== undefined) return secret;
  const inFile = file[fileKey(key)];
  if (inFile === undefined) return undefined;
  const source = `${sources.filePath}: ${fileKey(key)}`;
  if (typeof inFile === "string" || typeof inFile === "number" || typeof inFile === "boolean") {
    return { text: String(inFile), source };
  }
  if (from.setting.isList === true && Array.isArray(inFile) && inFile.length > 0) {
    if (inFile.every((item) => typeof item === "string")) return { text: inFile.join(","), source };
    from.messages.push(`${source} must be a list of strings`);
    return undefined;
  }
  from.messages.push(`${source} must be a single value`);
  return undefined;
}

/** Secrets can also be read from a file, to keep them out of process listings and environments. */
function readSecretFile(
  name: string,
  from: { sources: Sources; messages: string[] },
): SourceValue | undefined {
  const path = from.sources.environment[`${name}_FILE`];
  if (path === undefined || path === "") return undefined;
  try {
    return { text: readFileSync(path, "utf8").trim(), source: `${name}_FILE` };
  } catch {
    from.messages.push(`${name}_FILE: cannot read "${path}"`);
    return undefined;
  }
}
