import { inheritedEnvironment } from "../config.ts";
import type { NamedValue } from "../read-values.ts";

export type Selection = {
  /** Only these names, all of which must exist. */
  readonly only: readonly string[] | undefined;
  /** Names that must exist. */
  readonly required: readonly string[];
  readonly prefix: string;
};

export type ChildEnvironment = {
  readonly variables: NodeJS.ProcessEnv;
  /** The values that were added. */
  readonly values: readonly string[];
  /** Names of secrets that cannot be in an environment: other characters, or bytes that are no text. */
  readonly skipped: readonly string[];
};

/** Names that are asked for and do not exist. */
export function findMissing(
  items: readonly Pick<NamedValue, "name">[],
  { only = [], required }: Selection,
): readonly string[] {
  const names = new Set(items.map(({ name }) => name));
  return [...new Set([...only, ...required])].filter((name) => !names.has(name));
}

/** The secrets that are asked for, by the names that the program gets. */
export function selectItems(
  items: readonly NamedValue[],
  { only, prefix }: Selection,
): readonly NamedValue[] {
  return items
    .filter(({ name }) => only === undefined || only.includes(name))
    .map((item) => ({ ...item, name: prefix + item.name }));
}

/** This process's environment without Keep's own variables, and the secrets, which win. */
export function createChildEnvironment(
  items: readonly NamedValue[],
  inherited: NodeJS.ProcessEnv = inheritedEnvironment(),
): ChildEnvironment {
  const secrets = items
    .filter(isUsable)
    .map((item): readonly [string, string] => [item.name, textOf(item) ?? ""]);
  return {
    variables: { ...inherited, ...Object.fromEntries(secrets) },
    values: secrets.map(([, value]) => value),
    skipped: items.filter((item) => !isUsable(item)).map(({ name }) => name),
  };
}

function isUsable(item: NamedValue): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/u.test(item.name) && textOf(item) !== undefined;
}

/** Undefined for what is no text, and for text with a NUL, at which the system would cut it. */
function textOf({ value, encoding }: Pick<NamedValue, "value" | "encoding">): string | undefined {
  return encoding === "utf8" && !value.includes("\0") ? value : undefined;
}
