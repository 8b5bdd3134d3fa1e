/**
 * @module
 * The gate for model files: a GGUF file's header, metadata and tensor table, read and checked in TypeScript
 * before native code sees the file. Promises that no file, however broken, costs more than bounded time and
 * memory, and that a refusal says what is wrong and where. It needs nothing but Node.
 * Imported by the engine before it loads, and by `models/` to show and import files.
 */

export { inspectModelFile } from "./inspect-model-file.ts";
export type { Capabilities } from "./metadata/guess-capabilities.ts";
export type { ModelFile, TensorSummary } from "./metadata/model-file.ts";
export type { PrivateDialect, PrivateFamily } from "./metadata/private-dialect.ts";
export { type FileLocation, ModelFileError, type ModelFileProblem } from "./model-file-error.ts";
export type { Metadata } from "./reading/read-header.ts";
export type { Tensor } from "./reading/read-tensors.ts";
export type { MetadataList, MetadataValue, NumberList, StringList } from "./reading/value-kinds.ts";
export type { Split } from "./validation/check-split.ts";
export { type Entry, type WrittenModel, writeModel } from "./writing/write-model.ts";
