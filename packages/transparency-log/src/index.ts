/**
 * @module
 * A transparency log in C2SP's formats: the RFC 6962 Merkle tree, proofs of inclusion and consistency, tiles, signed
 * notes, checkpoints, cosignatures and offline proofs. It stores nothing, keeps no private key and has no knowledge of
 * what is logged. Everything runs in browsers and in Node; appending needs a synchronous SHA-256 from the caller.
 * Imported by programs that keep a log, and by whoever verifies one.
 */
export { buildConsistencyProof, buildInclusionProof, computeRoot, type NodeReader } from "./build-proofs.ts";
export { type Bytes, base64Bytes, equalBytes, textBytes } from "./bytes.ts";
export {
  type Checkpoint,
  formatCheckpoint,
  parseCheckpoint,
  type TrustedLog,
  type VerifiedCheckpoint,
  verifyCheckpoint,
} from "./checkpoint.ts";
export { Frontier } from "./frontier.ts";
export { hashLeaf, type Sha256, type SynchronousSha256, webSha256 } from "./hashing.ts";
export {
  formatOfflineProof,
  type OfflineProof,
  parseOfflineProof,
  verifyOfflineProof,
} from "./offline-proof.ts";
export { readNodesFromTiles } from "./read-tiles.ts";
export { cosignNote, type NoteSigner, signNote } from "./sign-note.ts";
export { formatNote, type NoteSignature, parseNote, type SignedNote } from "./signed-note.ts";
export { TileBuilder, type TileContent } from "./tile-builder.ts";
export { fullTilesBetween, partialTilesOf, type Tile, tilePath } from "./tiles.ts";
export {
  formatVerifierKey,
  isKeyName,
  makeVerifierKey,
  parseVerifierKey,
  type VerifierKey,
} from "./verifier-key.ts";
export { type VerifiedNote, verifyNote } from "./verify-note.ts";
export { InclusionVerifier, verifyConsistency, verifyInclusion } from "./verify-proofs.ts";
