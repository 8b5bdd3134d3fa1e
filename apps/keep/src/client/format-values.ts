import { type ClientError, clientFailure } from "./client-failure.ts";
import type { NamedValue } from "./read-values.ts";

/** Formats that the client writes; the server writes those of docs/keep/exchange-formats.md. */
export const clientFormats = ["yaml", "shell", "docker", "kubernetes"] as const;

export type ClientFormat = (typeof clientFormats)[number];

export type FormatOptions = {
  /** Name of the Kubernetes Secret. */
  readonly name: string;
};

/** A file with these values. Throws for a value or a name that the format cannot contain. */
export function formatValues(
  items: readonly NamedValue[],
  format: ClientFormat,
  { name }: FormatOptions,
): string {
  if (format === "kubernetes") return formatManifest(items, name);
  const write = { yaml: writeYaml, shell: writeShell, docker: writeDocker }[format];
  return items.map((item) => `${write(item)}\n`).join("");
}

function writeYaml(item: NamedValue): string {
  return `${quoteYaml(item.name)}: ${quoteYaml(textOf(item))}`;
}

/** In single quotes, in which a shell interprets nothing. */
function writeShell(item: NamedValue): string {
  return `export ${variableOf(item)}='${textOf(item).replaceAll("'", String.raw`'\''`)}'`;
}

/** For `docker run --env-file`, which knows neither quotes nor escapes. */
function writeDocker(item: NamedValue): string {
  const text = textOf(item);
  if (/[\r\n]/u.test(text))
    throw unusable(item, "has several lines, which an env-file of Docker cannot contain");
  return `${variableOf(item)}=${text}`;
}

const keyPattern = /^[-._A-Za-z0-9]{1,253}$/u;
const manifestNamePattern = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/u;

function formatManifest(items: readonly NamedValue[], name: string): string {
  if (!manifestNamePattern.test(name)) {
    const message = `"${name}" cannot be the name of a Kubernetes Secret`;
    throw clientFailure({ kind: "usage-error", message, next: "use lower-case letters, digits and hyphens" });
  }
  const entries = items.map((item) => {
    if (!keyPattern.test(item.name))
      throw unusable(item, "has a name that a Kubernetes Secret cannot contain");
    return `  ${quoteYaml(item.name)}: ${Buffer.from(item.value, item.encoding).toString("base64")}\n`;
  });
  const head = `apiVersion: v1\nkind: Secret\nmetadata:\n  name: ${quoteYaml(name)}\ntype: Opaque\n`;
  return entries.length === 0 ? `${head}data: {}\n` : `${head}data:\n${entries.join("")}`;
}

/** A JSON string is a double-quoted scalar of YAML, once what YAML does not count as printable is escaped. */
function quoteYaml(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\u007F-\u009F\u2028\u2029\uFEFF\uFFFE\uFFFF]/gu,
    (character) => String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function variableOf(item: NamedValue): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/u.test(item.name))
    throw clientFailure({ kind: "name-unusable", path: item.path });
  return item.name;
}

function textOf(item: NamedValue): string {
  if (item.encoding !== "utf8" || item.value.includes("\0"))
    throw unusable(item, "is no text, which this format cannot contain");
  return item.value;
}

function unusable({ path }: NamedValue, reason: string): ClientError {
  const next = "use --format json or kubernetes, or another folder";
  return clientFailure({ kind: "usage-error", message: `${path} ${reason}`, next });
}
