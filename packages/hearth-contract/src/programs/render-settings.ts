import {
  type JsonEntry,
  type JsonValue,
  keyPlaceholder,
  keyVariable,
  type Program,
  type ProgramSettings,
  pathOf,
  type SettingsFile,
} from "./program.ts";

/** Text to copy: the content of a file, or commands for a shell. */
export type SettingsBlock = {
  /** The path of the file; undefined for commands. */
  readonly path: string | undefined;
  readonly language: "bash" | "json" | "toml" | "yaml";
  readonly text: string;
};

export type RenderOptions = {
  /** Arguments of the user, after ours. */
  readonly args?: readonly string[];
  /** Replaces `$HEARTH_API_KEY` in commands. */
  readonly key?: string;
};

/** What the user would write and type to get the same settings. Variables stay variables, so the key is not shown. */
export function renderSettings(
  { executables }: Pick<Program, "executables">,
  settings: ProgramSettings,
  { args = [], key = "" }: RenderOptions = {},
): readonly SettingsBlock[] {
  const quote = (text: string): string => shellQuote(text, key);
  const variables = Object.entries(settings.environment)
    // The user has set this one already.
    .filter(([name, value]) => key !== "" || name !== keyVariable || value !== keyPlaceholder)
    .map(([name, value]) => `export ${name}=${quote(value)}`);
  const command = [executables[0], ...settings.args, ...args].map(quote).join(" ");
  return [
    ...settings.files.map(renderFile),
    { path: undefined, language: "bash", text: [...variables, command].join("\n") },
  ];
}

function renderFile(file: SettingsFile): SettingsBlock {
  const path = pathOf(file);
  if (file.kind === "text") return { path, language: file.language, text: file.text };
  return { path, language: "json", text: `${JSON.stringify(toObject(file.entries), null, 2)}\n` };
}

type JsonObject = { readonly [key: string]: JsonValue };

/** The entries as a file that has no other settings. */
export function toObject(entries: readonly JsonEntry[]): JsonObject {
  let result: JsonObject = {};
  for (const { keys, value } of entries) result = setIn(result, keys, value);
  return result;
}

function setIn(object: JsonObject, [key = "", ...rest]: readonly string[], value: JsonValue): JsonObject {
  if (rest.length === 0) return { ...object, [key]: value };
  const inner = object[key];
  const isObject = typeof inner === "object" && inner !== null && !Array.isArray(inner);
  // Neither null nor an array, so an object.
  return { ...object, [key]: setIn(isObject ? (inner as JsonObject) : {}, rest, value) };
}

/** Texts of these characters mean the same without quotes; `~` only at the start of a path. */
const plainText = /^(?:~\/)?[\w@%+=:,./-]+$/u;

/** Single quotes, except around the key, which is a variable unless it is given. */
function shellQuote(text: string, key: string): string {
  if (text === "") return '""';
  const keyText = key === "" ? `"$${keyVariable}"` : quoteLiteral(key);
  return text
    .split(keyPlaceholder)
    .map((part) => (part === "" ? "" : quoteLiteral(part)))
    .join(keyText);
}

function quoteLiteral(text: string): string {
  return plainText.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
