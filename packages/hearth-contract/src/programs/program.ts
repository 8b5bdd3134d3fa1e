/**
 * @module
 * How programs that write code are pointed at a Hearth server: for each one, pure functions from the server, the model
 * and its context to environment variables, settings files and arguments. The API key is never an input: a placeholder
 * stands for it, and only in the environment, so that no settings file can contain it.
 * Imported, through the package's index, by `hearth launch` and by the web UI.
 */

/** What the settings of a program depend on. */
export type ProgramContext = {
  /** The server's URL, without a trailing slash. */
  readonly baseUrl: string;
  readonly model: string;
  /** For titles, summaries and other short requests. */
  readonly smallModel: string;
  readonly contextTokens: number | undefined;
  readonly hasVision: boolean;
  /** `keyPlaceholder`, or any text for a server without keys, because many programs insist on one. */
  readonly key: typeof keyPlaceholder | typeof anyKey;
};

export type ProgramSettings = {
  readonly environment: Readonly<Record<string, string>>;
  readonly files: readonly SettingsFile[];
  /** Arguments before those of the user. One that equals the path of a file stands for that file. */
  readonly args: readonly string[];
};

/** A settings file in a folder of the user. */
export type SettingsFile = {
  /** As documented by the program, e.g. `~/.codex`. */
  readonly folder: string;
  /** The environment variable by which the user moves the folder, if there is one. */
  readonly folderVariable?: string;
  readonly name: string;
} & (
  | { readonly kind: "text"; readonly text: string; readonly language: "json" | "toml" | "yaml" }
  /** Entries in a file that also has other settings. */
  | { readonly kind: "json"; readonly entries: readonly JsonEntry[] }
);

export type JsonEntry = {
  readonly keys: readonly string[];
  readonly value: JsonValue;
  /** Keeps a value that is already there. */
  readonly isDefault?: boolean;
};

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

export type Program = {
  /** As in `hearth launch NAME`. */
  readonly name: string;
  readonly title: string;
  /** The names of the executable, in the order they are tried. */
  readonly executables: readonly [string, ...string[]];
  /** The command that installs it, or where to find out. */
  readonly install: string;
  readonly configure: (context: ProgramContext) => ProgramSettings;
};

/** The variable from which programs read the key where they let us name it. */
export const keyVariable = "HEARTH_API_KEY";

/** Stands for the API key in the environment; a program's settings are built without it. */
export const keyPlaceholder = "{{HEARTH_API_KEY}}";

/** Servers without keys accept any text. */
export const anyKey = "hearth";

/** The instructions and tools of an agent alone take about ten thousand tokens. */
export const minAgentContextTokens = 32_768;

/** Where the file is unless the user has moved its folder. */
export function pathOf({ folder, name }: Pick<SettingsFile, "folder" | "name">): string {
  return `${folder}/${name}`;
}

/** Room for a response: a quarter of the context, at most what agents reserve by default. */
export function maxOutputTokens(contextTokens: number): number {
  return Math.min(32_000, Math.floor(contextTokens / 4));
}
