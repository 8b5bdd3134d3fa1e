import { type Bytes, base64Bytes, hexBytes, joinBytes, textBytes, wholeNumberBytes } from "./bytes.ts";

/** The server's word that a chain had this link: signed with Ed25519, and kept outside the database as well. */
export type Checkpoint = {
  readonly chain: string;
  readonly seq: number;
  readonly hash: string;
  readonly key_version: number;
  /** In base64. */
  readonly signature: string;
};

/** A key that checkpoints are signed with: its public half in SPKI form, in base64. */
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

/** Tells whether one of these keys made a checkpoint's signature. */
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

/** Undefined for bytes that are no such key: nothing is signed by it. */
function importKey(encoded: string): Promise<VerifyingKey | undefined> {
  return crypto.subtle.importKey("spki", base64Bytes(encoded), "Ed25519", false, ["verify"]).then(
    (key) => key,
    () => undefined,
  );
}
