/**
 * @module
 * The format of Keep's audit log, so that anyone can verify an export: canonical JSON, a hash chain, and signed
 * checkpoints. Runs in browsers and in Node.
 * Imported by Keep's audit log, by `keep audit verify` and by the console.
 */
export { hexText } from "./bytes.ts";
export { CanonicalFormError, canonicalJson, type Json } from "./canonical-json.ts";
export { type Checkpoint, type CheckpointKey, checkpointMessage } from "./checkpoint.ts";
export { type ExportLine, readExportLine, writeExportLine } from "./export-line.ts";
export {
  areKeys,
  isCount,
  isHash,
  isId,
  isString,
  matches,
  orNull,
  readShapedLine,
  type Shape,
} from "./line-shape.ts";
export { type AuditLink, chainFormat } from "./link.ts";
export { type TrustedMaterial, type VerificationResult, verifyChain } from "./verify-chain.ts";
