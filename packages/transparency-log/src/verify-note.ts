import { type Bytes, textBytes, wholeNumberAt } from "./bytes.ts";
import { cosignedMessage } from "./sign-note.ts";
import { type NoteSignature, parseNote } from "./signed-note.ts";
import type { VerifierKey } from "./verifier-key.ts";

export type VerifiedNote = {
  readonly text: string;
  readonly signatures: readonly VerifiedSignature[];
};

export type VerifiedSignature = {
  readonly key: VerifierKey;
  /** Seconds since 1970; only cosignatures have a time. */
  readonly time: number | undefined;
};

/**
 * Verifies the signatures of known keys and ignores all others. Undefined when the note is malformed, when no known
 * key signed it, or when one of their signatures is invalid.
 */
export async function verifyNote(
  note: string,
  keys: readonly VerifierKey[],
): Promise<VerifiedNote | undefined> {
  const parsed = parseNote(note);
  if (parsed === undefined) return undefined;
  const signatures: VerifiedSignature[] = [];
  for (const signature of parsed.signatures) {
    const key = keys.find(({ name, id }) => name === signature.name && id === signature.keyId);
    if (key === undefined) continue;
    const verified = await verifySignature(parsed.text, signature, key);
    if (verified === undefined) return undefined;
    signatures.push(verified);
  }
  return signatures.length === 0 ? undefined : { text: parsed.text, signatures };
}

const timeLength = 8;

async function verifySignature(
  text: string,
  { signature }: NoteSignature,
  key: VerifierKey,
): Promise<VerifiedSignature | undefined> {
  if (key.type === "signature") {
    const isValid = await verifyEd25519(key, signature, textBytes(text));
    return isValid ? { key, time: undefined } : undefined;
  }
  const time = wholeNumberAt(signature);
  if (time === undefined) return undefined;
  const isValid = await verifyEd25519(key, signature.slice(timeLength), cosignedMessage(text, time));
  return isValid ? { key, time } : undefined;
}

/** No signature is valid for bytes that are not an Ed25519 key. */
async function verifyEd25519({ publicKey }: VerifierKey, signature: Bytes, message: Bytes): Promise<boolean> {
  try {
    const key = await crypto.subtle.importKey("raw", publicKey, "Ed25519", false, ["verify"]);
    return await crypto.subtle.verify("Ed25519", key, signature, message);
  } catch (error) {
    if (error instanceof DOMException && error.name === "DataError") return false;
    throw error;
  }
}
