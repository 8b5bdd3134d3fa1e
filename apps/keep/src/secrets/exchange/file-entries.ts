import { isUtf8 } from "node:buffer";
import { type FieldError, requestFailure } from "../../failures.ts";
import type { SecretType } from "../queries.ts";

/** One secret in a file, with its path relative to the file's folder. */
export type FileEntry = {
  /** Folder names, then the secret's name. */
  readonly segments: readonly string[];
  readonly type: SecretType;
  readonly bytes: Buffer;
};

/** The secrets of a file. Of a repeated name the last entry counts. */
export type FileContent = {
  readonly entries: readonly FileEntry[];
  readonly repeated: readonly (readonly string[])[];
};

const maxErrors = 64;

export function invalidFile(errors: readonly FieldError[]): Error {
  return requestFailure({ kind: "request-invalid", errors: errors.slice(0, maxErrors) });
}

export function keepLast(entries: readonly FileEntry[]): FileContent {
  const last = new Map<string, FileEntry>();
  const repeated = new Map<string, readonly string[]>();
  for (const entry of entries) {
    const path = entry.segments.join("/");
    if (last.has(path)) repeated.set(path, entry.segments);
    last.set(path, entry);
  }
  return { entries: [...last.values()], repeated: [...repeated.values()] };
}

/** Undefined when the bytes are not valid UTF-8. */
export function decodeUtf8(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}
