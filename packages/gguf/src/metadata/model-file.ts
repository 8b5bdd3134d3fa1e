/**
 * @module
 * Describes a model from its validated header: name, size, quantization, context length, chat template, and hints of
 * its capabilities. Validates nothing itself.
 * Imported by this package only; the types are exported through its index.
 */
import type { Header, Metadata } from "../reading/read-header.ts";
import type { Tensor } from "../reading/read-tensors.ts";
import type { Split } from "../validation/check-split.ts";
import { nameFileType } from "./file-type.ts";
import { type Capabilities, guessCapabilities } from "./guess-capabilities.ts";
import { findPrivateDialect, type PrivateDialect } from "./private-dialect.ts";

export type ModelFile = {
  readonly path: string;
  readonly fileBytes: number;
  readonly formatVersion: number;
  /** Null only for the second and later parts of a split model. */
  readonly architecture: string | null;
  readonly name: string | null;
  /** The quantization, e.g. "Q4_K_M"; "unknown" if neither the metadata nor the tensors determine it. */
  readonly fileType: string;
  readonly parameterCount: number;
  readonly trainedContextTokens: number | null;
  readonly chatTemplate: string | null;
  readonly capabilities: Capabilities;
  readonly metadata: Metadata;
  readonly tensors: readonly Tensor[];
  readonly tensorSummary: TensorSummary;
  readonly split: Split | null;
  /** Set for a file that llama.cpp cannot load although it is valid. */
  readonly privateDialect: PrivateDialect | null;
};

export type TensorSummary = {
  readonly count: number;
  readonly bytes: number;
  readonly byType: ReadonlyMap<string, { readonly count: number; readonly bytes: number }>;
};

export type CheckedFile = {
  readonly path: string;
  readonly fileBytes: number;
  readonly header: Header;
  readonly architecture: string | null;
  readonly split: Split | null;
  /** The tensors of all parts, if the model is split. */
  readonly tensors: readonly Tensor[];
};

export function describeModelFile(file: CheckedFile): ModelFile {
  const { path, fileBytes, header, architecture, split, tensors } = file;
  const { metadata } = header;
  return {
    path,
    fileBytes,
    formatVersion: header.version,
    architecture,
    name: textOf(metadata, "general.name"),
    fileType: nameFileType(metadata, tensors),
    parameterCount: tensors.reduce((sum, { weights }) => sum + weights, 0),
    trainedContextTokens: numberOf(metadata, `${architecture}.context_length`),
    chatTemplate: textOf(metadata, "tokenizer.chat_template"),
    capabilities: guessCapabilities(metadata, architecture),
    metadata,
    tensors,
    tensorSummary: summarize(tensors),
    split,
    privateDialect: findPrivateDialect(architecture, metadata, tensors) ?? null,
  };
}

function textOf(metadata: Metadata, key: string): string | null {
  const value = metadata.get(key)?.value;
  return typeof value === "string" ? value : null;
}

function numberOf(metadata: Metadata, key: string): number | null {
  const value = metadata.get(key)?.value;
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : null;
}

function summarize(tensors: readonly Tensor[]): TensorSummary {
  const byType = new Map<string, { count: number; bytes: number }>();
  for (const { type, bytes } of tensors) {
    const sum = byType.get(type) ?? { count: 0, bytes: 0 };
    byType.set(type, { count: sum.count + 1, bytes: sum.bytes + bytes });
  }
  return { count: tensors.length, bytes: tensors.reduce((sum, { bytes }) => sum + bytes, 0), byType };
}
