import { randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { explainFileError } from "@hearth-and-keep/failures";
import { clientFailure } from "./client-failure.ts";
import { promptHidden } from "./prompt-hidden.ts";

export type ValueFlags = {
  readonly file?: string;
  /** True without a length. */
  readonly generate?: string | true;
};

const maxBytes = 1024 * 1024;
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const defaultLength = 32;
const minLength = 8;
const maxLength = 1024;

/** From a file, a generator, standard input, or a prompt that does not show it; never from the arguments. */
export async function readNewValue(path: string, { file, generate }: ValueFlags): Promise<Buffer> {
  if (file !== undefined && generate !== undefined)
    throw clientFailure({ kind: "usage-error", message: "Use either --file or --generate" });
  if (file !== undefined) return readBytes(file);
  if (generate !== undefined) return Buffer.from(generateValue(generate));
  if (!process.stdin.isTTY) return withoutLastNewline(await readStdin());
  return Buffer.from(await promptHidden(`Value of ${path} (not shown): `));
}

function generateValue(length: string | true): string {
  const count = length === true ? defaultLength : Number(length);
  if (!Number.isInteger(count) || count < minLength || count > maxLength) {
    const message = `Cannot generate ${length} characters: use ${minLength} to ${maxLength}`;
    throw clientFailure({ kind: "usage-error", message });
  }
  return Array.from({ length: count }, () => letters[randomInt(letters.length)]).join("");
}

async function readBytes(file: string): Promise<Buffer> {
  try {
    return assertSize(await readFile(file));
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    const reason = isMissing ? "it does not exist" : explainFileError(error);
    throw reason === undefined ? error : clientFailure({ kind: "file-unusable", file, reason });
  }
}

async function readStdin(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes + 1) break;
  }
  return assertSize(Buffer.concat(chunks));
}

function assertSize(value: Buffer): Buffer {
  if (value.length > maxBytes + 2)
    throw clientFailure({ kind: "usage-error", message: "The value is larger than 1 MiB" });
  return value;
}

/** What `echo` adds; --file keeps every byte. */
function withoutLastNewline(value: Buffer): Buffer {
  if (value.at(-1) !== 10) return value;
  return value.subarray(0, value.at(-2) === 13 ? -2 : -1);
}
