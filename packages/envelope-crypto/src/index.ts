/**
 * @module
 * Authenticated encryption of secrets at rest. A ciphertext decrypts only with its key and its associated data (the ids
 * and version of its row), so that a modified or moved row is detected. Keys are wrapped in the same way, and MACs
 * authenticate rows that are not encrypted. Uses only published algorithms on top of Node's crypto; the first byte of a
 * ciphertext is the format version.
 * Imported by Keep's `secrets/` and `keys/`.
 */
export {
  type AssociatedData,
  computeMac,
  decrypt,
  deriveMacKey,
  encrypt,
  generateKey,
  IntegrityError,
  unwrapKey,
  verifyMac,
  wrapKey,
} from "./encrypt.ts";
