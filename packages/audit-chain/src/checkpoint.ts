import { type Bytes, base64Bytes, hexBytes, joinBytes, textBytes, wholeNumberBytes } from "./bytes.ts";

/** An Ed25519 signature over the position and hash of a link; also stored outside the database. */
export type Checkpoint = {
  readonly chain: string;
  readonly seq: number;
  readonly hash: string;
  readonly key_version: number;
  /** Base64. */
  readonly signature: string;
};

/** Public key of checkpoint signatures: SPKI, base64. */
export type CheckpointKey = { readonly version: number; readonly public_key: string };

/** "keep-checkpoint/1" 00 chain seq hash */
export function checkpointMessage({ chain, seq, hash }: Pick<Checkpoint, "chain" | "seq" | "hash">): Bytes {
  return joinBytes([
    textBytes("keep-checkpoint/1\0"),
    hexBytes(chain),
    wholeNumberBytes(BigInt(seq)),
    hexBytes(hash),
  ]);
}

export type SignatureCheck = (checkpoint: Checkpoint) => Promise<boolean>;

/** Checks signatures with the key of the version that the checkpoint names. */
export async function checkSignaturesWith(keys: readonly CheckpointKey[]): Promise<SignatureCheck> {
  const imported = new Map<number, VerifyingKey>();
  for (const { version, public_key: encoded } of keys) {
    const key = await importKey(encoded);
    if (key !== undefined) imported.set(version, key);
  }
  return async (checkpoint) => {
    const key = imported.get(checkpoint.key_version);
    if (key === undefined) return false;
    return crypto.subtle.verify(
      "Ed25519",
      key,
      base64Bytes(checkpoint.signature),
      checkpointMessage(checkpoint),
    );
  };
}

type VerifyingKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Undefined when the bytes are no Ed25519 key: no signature is valid for it. */
function importKey(encoded: string): Promise<VerifyingKey | undefined> {
  return crypto.subtle.importKey("spki", base64Bytes(encoded), "Ed25519", false, ["verify"]).then(
    (key) => key,
    () => undefined,
  );
}
