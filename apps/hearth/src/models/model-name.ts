import { modelFailure } from "./model-failure.ts";
import { type Digest, tryParseDigest } from "./store/digest.ts";

/**
 * A name such as `registry.example/team/model:tag@sha256:…`. Every component matches its pattern and starts with a
 * letter, a digit or `_`, so that none is `.` or `..` and none contains a path separator.
 */
export type ModelName = {
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly namespace: string;
  readonly model: string;
  readonly tag: string;
  /** The required digest of the manifest, when the caller specified one. */
  readonly digest: Digest | null;
  /** Set by a `:local` suffix after the tag: never a cloud model, whatever the tag is called. */
  readonly isLocal: boolean;
};

const defaultHost = "registry.ollama.ai";
const defaultNamespace = "library";
const defaultTag = "latest";

const maxNameLength = 1024;
const hostPattern = /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,349}$/u;
const namespacePattern = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,79}$/u;
const componentPattern = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}$/u;
const localSuffix = ":local";

export function parseModelName(text: string): ModelName {
  const name = tryParseModelName(text);
  if (name === undefined) throw modelFailure({ kind: "name-invalid", name: text.slice(0, maxNameLength) });
  return name;
}

/** Undefined when the text is not a model name. */
export function tryParseModelName(text: string): ModelName | undefined {
  if (text.length > maxNameLength) return undefined;
  const [reference = "", digestText, ...surplus] = text.split("@");
  const digest = digestText === undefined ? null : tryParseDigest(digestText);
  if (digest === undefined || surplus.length > 0) return undefined;
  const { rest: withoutScheme, scheme } = splitScheme(reference);
  const { rest, isLocal } = splitLocalSuffix(withoutScheme);
  const { rest: path, tag = defaultTag } = splitTag(rest);
  const segments = path.split("/");
  const model = segments.pop() ?? "";
  const namespace = segments.pop() ?? defaultNamespace;
  const host = segments.pop() ?? defaultHost;
  // A scheme is only valid in front of a host.
  const isComplete = segments.length === 0 && (scheme === undefined || path.split("/").length === 3);
  const name = { scheme: scheme ?? "https", host, namespace, model, tag, digest, isLocal } as const;
  return isComplete && hasValidComponents(name) ? name : undefined;
}

function splitScheme(text: string): { rest: string; scheme?: "http" | "https" } {
  if (text.startsWith("https://")) return { rest: text.slice("https://".length), scheme: "https" };
  if (text.startsWith("http://")) return { rest: text.slice("http://".length), scheme: "http" };
  return { rest: text };
}

/** Only after a tag: in `model:local` the tag itself is `local`. */
function splitLocalSuffix(text: string): { rest: string; isLocal: boolean } {
  const rest = text.slice(0, -localSuffix.length);
  const isLocal = text.endsWith(localSuffix) && splitTag(rest).tag !== undefined;
  return { rest: isLocal ? rest : text, isLocal };
}

/** A colon before the last slash separates the host from its port. */
function splitTag(text: string): { rest: string; tag?: string } {
  const colon = text.lastIndexOf(":");
  if (colon === -1 || colon < text.lastIndexOf("/")) return { rest: text };
  return { rest: text.slice(0, colon), tag: text.slice(colon + 1) };
}

type NameComponents = Pick<ModelName, "host" | "namespace" | "model" | "tag">;

function hasValidComponents({ host, namespace, model, tag }: NameComponents): boolean {
  return (
    hostPattern.test(host) &&
    namespacePattern.test(namespace) &&
    componentPattern.test(model) &&
    componentPattern.test(tag)
  );
}

/** The short form: host and namespace only where they differ from the defaults, the tag always. */
export function displayModelName({ host, namespace, model, tag }: NameComponents): string {
  const short = `${model}:${tag}`;
  if (!isSame(host, defaultHost)) return `${host}/${namespace}/${short}`;
  return isSame(namespace, defaultNamespace) ? short : `${namespace}/${short}`;
}

/** Case-insensitive; every component is ASCII. */
export function isSameModelName(first: NameComponents, second: NameComponents): boolean {
  return namePath(first).every((component, index) => isSame(component, namePath(second)[index] ?? ""));
}

/** The path components of a name's manifest, relative to the folder of manifests. */
export function namePath({ host, namespace, model, tag }: NameComponents): readonly string[] {
  return [host, namespace, model, tag];
}

/** Whether the tag marks a cloud model, which runs on its publisher's servers. */
export function isCloudName({ tag, isLocal }: ModelName): boolean {
  return !isLocal && /(?:^|-)cloud$/iu.test(tag);
}

function isSame(first: string, second: string): boolean {
  return first.toLowerCase() === second.toLowerCase();
}
