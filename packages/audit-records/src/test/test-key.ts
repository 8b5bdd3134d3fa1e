import { generateKeyPairSync, sign } from "node:crypto";
import { type Checkpoint, type CheckpointKey, checkpointMessage } from "@hearth-and-keep/audit-chain";
import { formatNote, makeVerifierKey, signNote } from "@hearth-and-keep/transparency-log";

/** A checkpoint key with its private half. */
export type TestKey = {
  readonly listed: CheckpointKey;
  readonly signText: (text: string, name: string) => Promise<string>;
  readonly signChain: (position: Pick<Checkpoint, "chain" | "seq" | "hash">) => Checkpoint;
};

export function makeTestKey(version: number): TestKey {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const encoded = publicKey.export({ type: "spki", format: "der" });
  return {
    listed: { version, public_key: encoded.toString("base64") },
    signText: async (text, name) => {
      // The last 32 bytes of the encoded key are the key itself (RFC 8410).
      const raw = Uint8Array.from(encoded.subarray(-32));
      const key = await makeVerifierKey({ name, type: "signature", publicKey: raw });
      const signer = {
        key,
        sign: (message: Uint8Array) => Uint8Array.from(sign(null, message, privateKey)),
      };
      return formatNote({ text, signatures: [await signNote(text, signer)] });
    },
    signChain: (position) => {
      const signature = sign(null, checkpointMessage(position), privateKey).toString("base64");
      return { ...position, key_version: version, signature };
    },
  };
}
