/**
 * @module
 * The format of Keep's audit records, so that anyone can verify an export: what a transparency log hashes for a record,
 * the lines of an export, and its verification, including a chain in the old format that was carried over. Runs in
 * browsers and in Node.
 * Imported by Keep's audit log, by `keep audit verify` and by the console.
 */
export { includesKey, nameKeys } from "./checkpoint-keys.ts";
export {
  type AuditRecord,
  leafText,
  type RecordLeaf,
  recordFormat,
  recordText,
  timestampOf,
} from "./record.ts";
export {
  type ExportedRecord,
  readStreamLine,
  type StreamExportLine,
  writeStreamLine,
} from "./stream-line.ts";
export type { AuditVerification, TrustedAuditMaterial, VerifiedLog } from "./verification.ts";
export { verifyAuditExport } from "./verify-export.ts";
