/**
 * @module
 * Validates model files: reads and checks the header, metadata and tensor table of a GGUF file in TypeScript before
 * native code opens it. Time and memory are bounded however malformed the file is, and every error says what is wrong
 * and where. Depends on nothing but Node.
 * Imported by the engine drivers before they load a model, and by `models/` to show and import files.
 */

export { inspectModelFile } from "./inspect-model-file.ts";
export type { Capabilities } from "./metadata/guess-capabilities.ts";
export type { ModelFile, TensorSummary } from "./metadata/model-file.ts";
export type { PrivateDialect, PrivateFamily } from "./metadata/private-dialect.ts";
export { type FileLocation, ModelFileError, type ModelFileErrorDetail } from "./model-file-error.ts";
export type { Metadata } from "./reading/read-header.ts";
export type { Tensor } from "./reading/read-tensors.ts";
export type { MetadataList, MetadataValue, NumberList, StringList } from "./reading/value-kinds.ts";
export type { Split } from "./validation/check-split.ts";
export { type Entry, type WrittenModel, writeModel } from "./writing/write-model.ts";
