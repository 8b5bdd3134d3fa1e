import { basename, dirname, join } from "node:path";
import { ModelFileError } from "../model-file-error.ts";
import type { Metadata } from "../reading/read-header.ts";
import { findInteger } from "./metadata-values.ts";

/** A model split into several files. llama.cpp opens the first and finds the others by name. */
export type Split = {
  /** Starts at 1, as in the file name. */
  readonly part: number;
  readonly partCount: number;
  readonly paths: readonly string[];
};

const maxParts = 4096;
const partFileName = /^(?<stem>.+)-(?<part>\d{5})-of-(?<count>\d{5})\.gguf$/u;

/**
 * Determines from the metadata which part of a split model a file is; the file name must match. Null if it is not
 * split.
 */
export function findSplit(metadata: Metadata, path: string): Split | null {
  const partCount = findInteger(metadata, "split.count", { min: 0, max: maxParts }) ?? 0;
  const part = (findInteger(metadata, "split.no", { min: 0, max: maxParts }) ?? 0) + 1;
  const name = partFileName.exec(basename(path))?.groups;
  if (partCount <= 1 && part === 1) return null;
  if (part > partCount) throw splitError(`The metadata declares part ${part} of ${partCount}`);
  if (name === undefined || Number(name["part"]) !== part || Number(name["count"]) !== partCount) {
    const expected = `-${digits(part)}-of-${digits(partCount)}.gguf`;
    throw splitError(`The file is part ${part} of ${partCount}, so its name must end in "${expected}"`);
  }
  const stem = join(dirname(path), name["stem"] ?? "");
  const paths = Array.from(
    { length: partCount },
    (_, index) => `${stem}-${digits(index + 1)}-of-${digits(partCount)}.gguf`,
  );
  return { part, partCount, paths };
}

export function splitError(message: string): ModelFileError {
  return new ModelFileError({ kind: "split-inconsistent", location: { key: "split.count" }, message });
}

function digits(number: number): string {
  return String(number).padStart(5, "0");
}
