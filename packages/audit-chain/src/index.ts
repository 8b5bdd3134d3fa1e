/**
 * @module
 * What the audit log of Keep is made of, so that anybody can check one: JSON in its one canonical form, how each link
 * hashes the one before it, and what a signed checkpoint says. Runs in a browser as well as in Node.
 * Imported by Keep's audit log, its `keep audit verify`, and its console.
 */
export { CanonicalFormError, canonicalJson, type Json } from "./canonical-json.ts";
export { type Checkpoint, type CheckpointKey, checkpointMessage } from "./checkpoint.ts";
export { type ExportLine, readExportLine, writeExportLine } from "./export-line.ts";
export { type AuditLink, chainFormat } from "./link.ts";
export { type Trust, type Verdict, verifyChain } from "./verify-chain.ts";
