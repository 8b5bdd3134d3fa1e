import { requestFailure } from "../../failures.ts";
import type { SecretType } from "../queries.ts";
import { isJson } from "../value-content.ts";
import { decodeUtf8, type FileContent, type FileEntry, invalidFile, keepLast } from "./file-entries.ts";
import { type JsonMember, type JsonNode, scanJson, TooDeep } from "./json-members.ts";

/**
 * Parses a JSON file: an object is a folder, a string is a text secret, any other value is a json secret. Anything else
 * is an object with a string `$type` and `value` or `base64`; its `members` are a folder with the same name.
 */
export function readJsonFile(content: string): FileContent {
  const node = parse(content.replace(/^\uFEFF/u, ""));
  if (node.kind !== "object" || typeOf(node.members) !== undefined) {
    throw invalidFile([{ field: "content", reason: "must be an object that maps names to secrets" }]);
  }
  return keepLast(readFolder(node.members, []));
}

export function writeJsonFile(entries: readonly FileEntry[]): string {
  const root: Folder = new Map();
  for (const entry of entries) {
    const names = [...entry.segments];
    const name = names.pop() ?? "";
    let folder = root;
    for (const step of names) folder = nodeIn(folder, step).members;
    nodeIn(folder, name).entry = entry;
  }
  return `${writeFolder(root, "")}\n`;
}

/** The folder depth of a secret. */
const maxDepth = 16;

function parse(text: string): JsonNode {
  try {
    JSON.parse(text);
    // Each folder may be wrapped in an object with a $type, and the file itself is one more level.
    return scanJson(text, 2 * (maxDepth + 1));
  } catch (error) {
    if (error instanceof TooDeep) {
      throw invalidFile([{ field: "content", reason: `has folders nested more than ${maxDepth} deep` }]);
    }
    if (!(error instanceof SyntaxError)) throw error;
    // The parser's message quotes the file, which contains secrets, so only the line number is used.
    const line = /\(line (?<line>\d+) column/u.exec(error.message)?.groups?.["line"];
    const reason = line === undefined ? "is not valid JSON" : `line ${line} is not valid JSON`;
    throw requestFailure({ kind: "request-invalid", errors: [{ field: "content", reason }] });
  }
}

function readFolder(members: readonly JsonMember[], folder: readonly string[]): readonly FileEntry[] {
  return members.flatMap(({ key, node }) => readNode(node, [...folder, key]));
}

function readNode(node: JsonNode, segments: readonly string[]): readonly FileEntry[] {
  // A slash in a name would address a different path.
  if (/^$|\//u.test(segments.at(-1) ?? ""))
    throw invalidAt(segments, "is not a valid name for a secret or folder");
  if (node.kind === "other") {
    return [{ segments, type: "json", bytes: Buffer.from(node.source, "utf8") }];
  }
  if (node.kind === "text") return [{ segments, type: "text", bytes: encodeText(node.text, segments) }];
  const type = typeOf(node.members);
  return type === undefined ? readFolder(node.members, segments) : readTyped(node.members, segments, type);
}

function typeOf(members: readonly JsonMember[]): string | undefined {
  const node = members.findLast(({ key }) => key === "$type")?.node;
  return node?.kind === "text" ? node.text : undefined;
}

const types: readonly SecretType[] = ["text", "json", "binary", "file"];

function readTyped(
  members: readonly JsonMember[],
  segments: readonly string[],
  typeName: string,
): readonly FileEntry[] {
  const type = types.find((candidate) => candidate === typeName);
  const byName = new Map(members.map(({ key, node }) => [key, node]));
  const value = byName.get("value");
  const base64 = byName.get("base64");
  const inner = byName.get("members");
  const candidate = [value, base64, inner].filter((node) => node !== undefined).length + 1;
  if (type === undefined || candidate !== byName.size || (value === undefined) === (base64 === undefined)) {
    throw invalidAt(
      segments,
      "has a $type, so it must have exactly the members $type, value or base64, and optionally members",
    );
  }
  if (inner !== undefined && (inner.kind !== "object" || typeOf(inner.members) !== undefined)) {
    throw invalidAt(segments, "has members that are not an object of secrets");
  }
  const bytes =
    value === undefined ? decodeBase64(base64, segments) : encodeText(textOf(value, segments), segments);
  return [{ segments, type, bytes }, ...(inner === undefined ? [] : readFolder(inner.members, segments))];
}

function textOf(node: JsonNode, segments: readonly string[]): string {
  if (node.kind !== "text") throw invalidAt(segments, "has a value that is not a string");
  return node.text;
}

function encodeText(text: string, segments: readonly string[]): Buffer {
  if (!text.isWellFormed()) throw invalidAt(segments, "contains a lone surrogate");
  return Buffer.from(text, "utf8");
}

function decodeBase64(node: JsonNode | undefined, segments: readonly string[]): Buffer {
  const text = node?.kind === "text" ? node.text : "-";
  const bytes = Buffer.from(text, "base64");
  // Node's decoder skips invalid characters, so they are detected by encoding again.
  if (bytes.toString("base64") !== text) throw invalidAt(segments, "is not valid base64");
  return bytes;
}

function invalidAt(segments: readonly string[], reason: string): Error {
  return invalidFile([{ field: `content./${segments.join("/")}`.slice(0, 1024), reason }]);
}

type Folder = Map<string, TreeNode>;
type TreeNode = { entry?: FileEntry; readonly members: Folder };

function nodeIn(folder: Folder, name: string): TreeNode {
  const candidate = folder.get(name);
  if (candidate !== undefined) return candidate;
  const created: TreeNode = { members: new Map() };
  folder.set(name, created);
  return created;
}

function writeFolder(folder: Folder, indent: string): string {
  if (folder.size === 0) return "{}";
  const inner = `${indent}  `;
  const lines = [...folder].map(
    ([name, node]) => `${inner}${JSON.stringify(name)}: ${writeNode(node, inner)}`,
  );
  return `{\n${lines.join(",\n")}\n${indent}}`;
}

function writeNode({ entry, members }: TreeNode, indent: string): string {
  if (entry === undefined) return writeFolder(members, indent);
  const text = entry.type === "text" || entry.type === "json" ? decodeUtf8(entry.bytes) : undefined;
  if (members.size === 0 && text !== undefined && isPlain(entry, text)) {
    return entry.type === "json" ? text : JSON.stringify(text);
  }
  const fields = [
    `"$type": ${JSON.stringify(entry.type)}`,
    text === undefined
      ? `"base64": ${JSON.stringify(entry.bytes.toString("base64"))}`
      : `"value": ${JSON.stringify(text)}`,
    ...(members.size === 0 ? [] : [`"members": ${writeFolder(members, `${indent}  `)}`]),
  ];
  return `{ ${fields.join(", ")} }`;
}

/** Whether the entry can be written without a `$type` and reads back the same. */
function isPlain({ segments, type }: FileEntry, text: string): boolean {
  // A plain string named $type would turn its folder into a typed secret.
  if (type === "text") return segments.at(-1) !== "$type";
  return /^[^{"\s]/u.test(text) && !/\s$/u.test(text) && isJson(text);
}
