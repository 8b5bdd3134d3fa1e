import { generateKeyPairSync, sign } from "node:crypto";
import type { NoteSigner } from "../sign-note.ts";
import { makeVerifierKey, type VerifierKey } from "../verifier-key.ts";

/** A signer with a new key. */
export async function makeSigner(name: string, type: VerifierKey["type"] = "signature"): Promise<NoteSigner> {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  // The last 32 bytes of the encoded key are the key itself (RFC 8410).
  const raw = Uint8Array.from(publicKey.export({ type: "spki", format: "der" }).subarray(-32));
  const key = await makeVerifierKey({ name, type, publicKey: raw });
  return { key, sign: (message) => Uint8Array.from(sign(null, message, privateKey)) };
}
