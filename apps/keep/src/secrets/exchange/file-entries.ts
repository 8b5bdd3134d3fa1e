import { isUtf8 } from "node:buffer";
import { type Mistake, requestFailure } from "../../failures.ts";
import type { SecretType } from "../queries.ts";

/** One secret as it stands in a file: where it is below the file's folder, and what it holds. */
export type FileEntry = {
  /** Folders, then the name. */
  readonly segments: readonly string[];
  readonly type: SecretType;
  readonly bytes: Buffer;
};

/** What a file says: each secret once. Of a name that stands there twice, the last counts. */
export type FileContent = {
  readonly entries: readonly FileEntry[];
  readonly repeated: readonly (readonly string[])[];
};

const mostMistakes = 64;

export function refuseFile(mistakes: readonly Mistake[]): Error {
  return requestFailure({ kind: "request-invalid", mistakes: mistakes.slice(0, mostMistakes) });
}

export function keepLast(entries: readonly FileEntry[]): FileContent {
  const last = new Map<string, FileEntry>();
  const repeated = new Map<string, readonly string[]>();
  for (const entry of entries) {
    const place = entry.segments.join("/");
    if (last.has(place)) repeated.set(place, entry.segments);
    last.set(place, entry);
  }
  return { entries: [...last.values()], repeated: [...repeated.values()] };
}

/** Undefined when the bytes are no text. */
export function asText(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}
