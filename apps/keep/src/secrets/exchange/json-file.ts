import { requestFailure } from "../../failures.ts";
import type { SecretType } from "../queries.ts";
import { isJson } from "../value-content.ts";
import { asText, type FileContent, type FileEntry, keepLast, refuseFile } from "./file-entries.ts";
import { type JsonMember, type JsonNode, scanJson, TooDeep } from "./json-members.ts";

/**
 * JSON files: an object is a folder, a string a text, any other value a secret of type json. What cannot be told apart
 * that way is an object with a string as its `$type`, and `value` or `base64`; `members` is a folder of the same name.
 */
export function readJsonFile(content: string): FileContent {
  const node = parse(content.replace(/^\uFEFF/u, ""));
  if (node.kind !== "object" || typeOf(node.members) !== undefined) {
    throw refuseFile([{ place: "content", reason: "is not an object of secrets by their names" }]);
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

/** Folders that a secret may be in. */
const mostDepth = 16;

function parse(text: string): JsonNode {
  try {
    JSON.parse(text);
    // Each folder may stand inside the form with a type, and the file itself is one more.
    return scanJson(text, 2 * (mostDepth + 1));
  } catch (problem) {
    if (problem instanceof TooDeep) {
      throw refuseFile([{ place: "content", reason: `has folders more than ${mostDepth} deep` }]);
    }
    if (!(problem instanceof SyntaxError)) throw problem;
    // The parser's own words quote the text.
    const line = /\(line (?<line>\d+) column/u.exec(problem.message)?.groups?.["line"];
    const reason = line === undefined ? "is not JSON" : `line ${line} is not JSON`;
    throw requestFailure({ kind: "request-invalid", mistakes: [{ place: "content", reason }] });
  }
}

function readFolder(members: readonly JsonMember[], folder: readonly string[]): readonly FileEntry[] {
  return members.flatMap(({ key, node }) => readNode(node, [...folder, key]));
}

function readNode(node: JsonNode, segments: readonly string[]): readonly FileEntry[] {
  // Two names in one would be another place.
  if (/^$|\//u.test(segments.at(-1) ?? "")) throw refuseAt(segments, "is not the name of a secret or folder");
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
  const type = types.find((known) => known === typeName);
  const byName = new Map(members.map(({ key, node }) => [key, node]));
  const value = byName.get("value");
  const base64 = byName.get("base64");
  const inner = byName.get("members");
  const known = [value, base64, inner].filter((node) => node !== undefined).length + 1;
  if (type === undefined || known !== byName.size || (value === undefined) === (base64 === undefined)) {
    throw refuseAt(segments, "has a $type, and is not {$type, value or base64, members}");
  }
  if (inner !== undefined && (inner.kind !== "object" || typeOf(inner.members) !== undefined)) {
    throw refuseAt(segments, "has members that are no object of secrets");
  }
  const bytes =
    value === undefined ? decodeBase64(base64, segments) : encodeText(textOf(value, segments), segments);
  return [{ segments, type, bytes }, ...(inner === undefined ? [] : readFolder(inner.members, segments))];
}

function textOf(node: JsonNode, segments: readonly string[]): string {
  if (node.kind !== "text") throw refuseAt(segments, "has a value that is not a string");
  return node.text;
}

function encodeText(text: string, segments: readonly string[]): Buffer {
  if (!text.isWellFormed()) throw refuseAt(segments, "holds half of a character");
  return Buffer.from(text, "utf8");
}

function decodeBase64(node: JsonNode | undefined, segments: readonly string[]): Buffer {
  const text = node?.kind === "text" ? node.text : "-";
  const bytes = Buffer.from(text, "base64");
  // What does not come back as it was is no base64.
  if (bytes.toString("base64") !== text) throw refuseAt(segments, "is not base64");
  return bytes;
}

function refuseAt(segments: readonly string[], reason: string): Error {
  return refuseFile([{ place: `content./${segments.join("/")}`.slice(0, 1024), reason }]);
}

type Folder = Map<string, TreeNode>;
type TreeNode = { entry?: FileEntry; readonly members: Folder };

function nodeIn(folder: Folder, name: string): TreeNode {
  const known = folder.get(name);
  if (known !== undefined) return known;
  const made: TreeNode = { members: new Map() };
  folder.set(name, made);
  return made;
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
  const text = entry.type === "text" || entry.type === "json" ? asText(entry.bytes) : undefined;
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

/** Whether it reads back as what it is without a word about its type. */
function isPlain({ segments, type }: FileEntry, text: string): boolean {
  // As a plain string it would make its folder look like a secret.
  if (type === "text") return segments.at(-1) !== "$type";
  return /^[^{"\s]/u.test(text) && !/\s$/u.test(text) && isJson(text);
}
