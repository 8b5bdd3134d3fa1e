/**
 * @module
 * Sealed values: what a secret looks like at rest. A sealed value opens only with its key and only in its place, so
 * that a row that was moved, rolled back or changed by a single bit is found out. Keys are wrapped in the same way.
 * Promises published algorithms alone, over Node's own cryptography; the format is versioned by its first byte.
 * Imported by Keep's `secrets/` and `keys/`.
 */
export {
  checkMark,
  deriveMarkKey,
  makeKey,
  markPlace,
  openSealed,
  type Place,
  SealBroken,
  seal,
  unwrapKey,
  wrapKey,
} from "./seal.ts";
