import { setImmediate as nextTurn } from "node:timers/promises";
import { parseBoundedJson } from "@hearth-and-keep/bounded-json";
import { isJsonObject, type JsonObject } from "@hearth-and-keep/engine";
import type { BatchRequest } from "../../../batches/batch.ts";
import { maxBatchRequests } from "../../../batches/limits.ts";
import { invalidField } from "../../../failures.ts";

/** Why a whole file cannot be run. */
export type FileError = {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly line: number | null;
};

export type ReadLines =
  | { readonly type: "requests"; readonly requests: readonly BatchRequest[] }
  | { readonly type: "error"; readonly error: FileError };

const lineBreak = 0x0a;
/** The longest is not longer than the line of a failed request may be. */
const maxCustomIdLength = 128;

/**
 * The requests of a file, one per line. A damaged line is a request that will fail; the file is rejected only as a whole:
 * without requests, with too many, or if two have the same id. Lets other work run between lines.
 */
export async function readLines(content: Uint8Array<ArrayBuffer>, endpoint: string): Promise<ReadLines> {
  const requests: BatchRequest[] = [];
  const customIds = new Set<string>();
  for (const { line, number } of splitLines(content)) {
    if (requests.length === maxBatchRequests) return tooManyRequests;
    // A copy, so that the file can be deleted.
    const stored = Buffer.from(line);
    const customId = readCustomId(parse(stored));
    if (customId !== null && customIds.has(customId)) return duplicateId(customId, number);
    if (customId !== null) customIds.add(customId);
    const readBody = (): unknown => readRequest(stored, { number, endpoint });
    requests.push({ customId, bytes: stored.length, readBody });
    await nextTurn();
  }
  return requests.length === 0 ? emptyFile : { type: "requests", requests };
}

type Line = { readonly line: Buffer; readonly number: number };

function* splitLines(content: Uint8Array<ArrayBuffer>): Generator<Line> {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  let number = 1;
  for (let start = 0; start < bytes.length; number += 1) {
    const found = bytes.indexOf(lineBreak, start);
    const end = found === -1 ? bytes.length : found;
    const line = bytes.subarray(start, end);
    if (line.some((byte) => byte > 0x20)) yield { line, number };
    start = end + 1;
  }
}

function parse(line: Buffer): unknown {
  return parseBoundedJson(line.toString("utf8").replace(/^\uFEFF/u, ""));
}

function readCustomId(parsed: unknown): string | null {
  const customId = isJsonObject(parsed) ? parsed["custom_id"] : undefined;
  return typeof customId === "string" && isValidId(customId) ? customId : null;
}

function isValidId(customId: string): boolean {
  return customId !== "" && customId.length <= maxCustomIdLength && !/\p{Control}/u.test(customId);
}

type LineContext = { readonly number: number; readonly endpoint: string };

/** The body of a request; throws a RequestFailure if its line is damaged. */
function readRequest(line: Buffer, { number, endpoint }: LineContext): JsonObject {
  const parsed = parse(line);
  if (!isJsonObject(parsed)) throw invalidField(`line ${number}`, "is not a JSON object");
  const { method, url, body } = parsed;
  if (readCustomId(parsed) === null) {
    const reason = `of line ${number} must be a text of 1 to ${maxCustomIdLength} characters`;
    throw invalidField("custom_id", reason);
  }
  if (method !== "POST") throw invalidField("method", `of line ${number} must be "POST"`);
  if (url !== endpoint) {
    throw invalidField("url", `of line ${number} must be "${endpoint}", the endpoint of the batch`);
  }
  if (!isJsonObject(body)) throw invalidField("body", `of line ${number} must be an object`);
  return body;
}

const emptyFile: ReadLines = {
  type: "error",
  error: { code: "empty_file", message: "The input file has no requests", param: null, line: null },
};

const tooManyRequests: ReadLines = {
  type: "error",
  error: {
    code: "too_many_requests",
    message: `The input file has more than ${maxBatchRequests} requests; split it`,
    param: null,
    line: null,
  },
};

function duplicateId(customId: string, line: number): ReadLines {
  const message = `The custom_id "${customId}" is used by an earlier line too`;
  return { type: "error", error: { code: "duplicate_custom_id", message, param: "custom_id", line } };
}
