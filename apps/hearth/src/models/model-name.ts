import { modelFailure } from "./model-failure.ts";
import { type Digest, readDigest } from "./store/digest.ts";

/**
 * A name as in `registry.example/team/model:tag@sha256:…`. Every part holds only the characters of its grammar
 * and starts with a letter, a digit or `_`, so that no part is `.` or `..` and none holds a separator.
 */
export type ModelName = {
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly namespace: string;
  readonly model: string;
  readonly tag: string;
  /** What the manifest must be, when the caller said so. */
  readonly digest: Digest | null;
  /** `:local` was said after the tag: never somebody else's machines, whatever the tag is called. */
  readonly isLocal: boolean;
};

const defaultHost = "registry.ollama.ai";
const defaultNamespace = "library";
const defaultTag = "latest";

const longestName = 1024;
const hostPattern = /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,349}$/u;
const namespacePattern = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,79}$/u;
const partPattern = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}$/u;
const localSuffix = ":local";

export function parseModelName(text: string): ModelName {
  const name = readModelName(text);
  if (name === undefined) throw modelFailure({ kind: "name-invalid", name: text.slice(0, longestName) });
  return name;
}

/** Undefined when the text is no name. */
export function readModelName(text: string): ModelName | undefined {
  if (text.length > longestName) return undefined;
  const [written = "", digestText, ...surplus] = text.split("@");
  const digest = digestText === undefined ? null : readDigest(digestText);
  if (digest === undefined || surplus.length > 0) return undefined;
  const { rest: withoutScheme, scheme } = cutScheme(written);
  const { rest, isLocal } = cutLocal(withoutScheme);
  const { rest: path, tag = defaultTag } = cutTag(rest);
  const segments = path.split("/");
  const model = segments.pop() ?? "";
  const namespace = segments.pop() ?? defaultNamespace;
  const host = segments.pop() ?? defaultHost;
  // A scheme belongs to a host, so it needs one.
  const isWhole = segments.length === 0 && (scheme === undefined || path.split("/").length === 3);
  const name = { scheme: scheme ?? "https", host, namespace, model, tag, digest, isLocal } as const;
  return isWhole && hasLegalParts(name) ? name : undefined;
}

function cutScheme(text: string): { rest: string; scheme?: "http" | "https" } {
  if (text.startsWith("https://")) return { rest: text.slice("https://".length), scheme: "https" };
  if (text.startsWith("http://")) return { rest: text.slice("http://".length), scheme: "http" };
  return { rest: text };
}

/** Only after a tag: in `model:local` the word is the tag itself. */
function cutLocal(text: string): { rest: string; isLocal: boolean } {
  const rest = text.slice(0, -localSuffix.length);
  const isLocal = text.endsWith(localSuffix) && cutTag(rest).tag !== undefined;
  return { rest: isLocal ? rest : text, isLocal };
}

/** A colon before the last slash belongs to the host's port. */
function cutTag(text: string): { rest: string; tag?: string } {
  const colon = text.lastIndexOf(":");
  if (colon === -1 || colon < text.lastIndexOf("/")) return { rest: text };
  return { rest: text.slice(0, colon), tag: text.slice(colon + 1) };
}

type NameParts = Pick<ModelName, "host" | "namespace" | "model" | "tag">;

function hasLegalParts({ host, namespace, model, tag }: NameParts): boolean {
  return (
    hostPattern.test(host) &&
    namespacePattern.test(namespace) &&
    partPattern.test(model) &&
    partPattern.test(tag)
  );
}

/** The shortest way to say it: host and namespace only where they differ from the defaults, the tag always. */
export function displayModelName({ host, namespace, model, tag }: NameParts): string {
  const short = `${model}:${tag}`;
  if (!isSame(host, defaultHost)) return `${host}/${namespace}/${short}`;
  return isSame(namespace, defaultNamespace) ? short : `${namespace}/${short}`;
}

/** Names are compared without regard to case; every part is ASCII. */
export function isSameModelName(first: NameParts, second: NameParts): boolean {
  return namePath(first).every((part, index) => isSame(part, namePath(second)[index] ?? ""));
}

/** The folders and the file of a name's manifest, below the folder of manifests. */
export function namePath({ host, namespace, model, tag }: NameParts): readonly string[] {
  return [host, namespace, model, tag];
}

/** Whether the tag says that the model runs on its maker's machines. */
export function isCloudName({ tag, isLocal }: ModelName): boolean {
  return !isLocal && /(?:^|-)cloud$/iu.test(tag);
}

function isSame(first: string, second: string): boolean {
  return first.toLowerCase() === second.toLowerCase();
}
