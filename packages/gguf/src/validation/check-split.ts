import { basename, dirname, join } from "node:path";
import { ModelFileError } from "../model-file-error.ts";
import type { Metadata } from "../reading/read-header.ts";
import { findWhole } from "./metadata-values.ts";

/** A model in several files; llama.cpp opens the first and finds the others by their names. */
export type Split = {
  /** Counted from one, as in the name. */
  readonly part: number;
  readonly parts: number;
  readonly paths: readonly string[];
};

const mostParts = 4096;
const partName = /^(?<stem>.+)-(?<part>\d{5})-of-(?<parts>\d{5})(?<ending>\.gguf)$/u;

/** Which part of a split model a file is, by its metadata, which must agree with its name. */
export function findSplit(metadata: Metadata, path: string): Split | null {
  const parts = findWhole(metadata, "split.count", { least: 0, most: mostParts }) ?? 0;
  const part = (findWhole(metadata, "split.no", { least: 0, most: mostParts }) ?? 0) + 1;
  const name = partName.exec(basename(path))?.groups;
  if (parts <= 1 && part === 1) return null;
  if (part > parts) throw disagreement(`The file says it is part ${part} of ${parts}`);
  if (name === undefined || Number(name["part"]) !== part || Number(name["parts"]) !== parts) {
    const expected = `-${digits(part)}-of-${digits(parts)}.gguf`;
    throw disagreement(`The file is part ${part} of ${parts}, and its name must end in "${expected}"`);
  }
  const stem = join(dirname(path), name["stem"] ?? "");
  const paths = Array.from(
    { length: parts },
    (_, index) => `${stem}-${digits(index + 1)}-of-${digits(parts)}.gguf`,
  );
  return { part, parts, paths };
}

export function disagreement(sentence: string): ModelFileError {
  return new ModelFileError({ kind: "split-inconsistent", place: { key: "split.count" }, sentence });
}

function digits(number: number): string {
  return String(number).padStart(5, "0");
}
