import { readFileSync } from "node:fs";
import { parse as parseToml } from "smol-toml";
import { Mistake, type Setting } from "./setting.ts";

export type Settings = Readonly<Record<string, Setting<unknown>>>;

export type ValuesOf<Declared extends Settings> = {
  readonly [key in keyof Declared]: Declared[key] extends Setting<infer Value> ? Value : never;
};

export type Sources = {
  /** Upper-case program name that opens every environment variable: HEARTH, KEEP. */
  readonly prefix: string;
  /** By declaration key, as the command-line parser gives them; undefined when not given. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Path of a TOML file; absent when the person named none. */
  readonly filePath?: string | undefined;
};

/** Everything that is wrong with what was set, in sentences, found in one pass. */
export class SettingsError extends Error {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join("\n"));
    this.name = "SettingsError";
    this.mistakes = mistakes;
  }
}

type Written = { readonly text: string; readonly where: string };

/** Flags win over the environment, the environment over the file, the file over the fallback. */
export function readSettings<Declared extends Settings>(
  declared: Declared,
  sources: Sources,
): ValuesOf<Declared> {
  const mistakes: string[] = [];
  const file = readFile(sources.filePath, mistakes);
  reportUnknownKeys(file, { declared, mistakes, filePath: sources.filePath });
  const values: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(declared)) {
    const written = findWritten(key, { setting, sources, file, mistakes });
    try {
      values[key] = written === undefined ? setting.fallback : setting.parse(written.text);
    } catch (problem) {
      if (!(problem instanceof Mistake)) throw problem;
      mistakes.push(`${written?.where} ${problem.message}`);
    }
  }
  if (mistakes.length > 0) throw new SettingsError(mistakes);
  // Every declared key was either parsed by its own setting or reported above.
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

function readFile(path: string | undefined, mistakes: string[]): File {
  if (path === undefined) return {};
  try {
    return parseToml(readFileSync(path, "utf8"));
  } catch (problem) {
    const reason = problem instanceof Error ? (problem.message.split("\n")[0] ?? "") : "";
    mistakes.push(`--config cannot be read from "${path}": ${reason}`);
    return {};
  }
}

function reportUnknownKeys(
  file: File,
  found: { declared: Settings; mistakes: string[]; filePath: string | undefined },
): void {
  const known = new Set(Object.keys(found.declared).map(fileKey));
  for (const key of Object.keys(file)) {
    if (!known.has(key)) found.mistakes.push(`${found.filePath}: there is no setting named "${key}"`);
  }
}

function findWritten(
  key: string,
  from: { setting: Setting<unknown>; sources: Sources; file: File; mistakes: string[] },
): Written | undefined {
  const { sources, file } = from;
  const flag = sources.flags[key];
  if (flag !== undefined) return { text: String(flag), where: flagName(key) };
  const name = environmentName(sources.prefix, key);
  const variable = sources.environment[name];
  if (variable !== undefined && variable !== "") return { text: variable, where: name };
  const secret = from.setting.isSecret ? readSecretFile(name, from) : undefined;
  if (secret !== undefined) return secret;
  const inFile = file[fileKey(key)];
  if (inFile === undefined) return undefined;
  const where = `${sources.filePath}: ${fileKey(key)}`;
  if (typeof inFile === "string" || typeof inFile === "number" || typeof inFile === "boolean") {
    return { text: String(inFile), where };
  }
  if (from.setting.isList === true && Array.isArray(inFile) && inFile.length > 0) {
    if (inFile.every((item) => typeof item === "string")) return { text: inFile.join(","), where };
    from.mistakes.push(`${where} must be a list of texts`);
    return undefined;
  }
  from.mistakes.push(`${where} must be a single value`);
  return undefined;
}

/** Secrets may also come by file, so that they appear neither in a process list nor in an environment. */
function readSecretFile(name: string, from: { sources: Sources; mistakes: string[] }): Written | undefined {
  const path = from.sources.environment[`${name}_FILE`];
  if (path === undefined || path === "") return undefined;
  try {
    return { text: readFileSync(path, "utf8").trim(), where: `${name}_FILE` };
  } catch {
    from.mistakes.push(`${name}_FILE names "${path}", which cannot be read`);
    return undefined;
  }
}
