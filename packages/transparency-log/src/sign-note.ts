import { type Bytes, joinBytes, textBytes, wholeNumberBytes } from "./bytes.ts";
import type { NoteSignature } from "./signed-note.ts";
import { isCount } from "./tree-shape.ts";
import type { VerifierKey } from "./verifier-key.ts";

export type NoteSigner = {
  readonly key: VerifierKey;
  /** An Ed25519 signature; the private key stays with the caller. */
  readonly sign: (message: Bytes) => Bytes | Promise<Bytes>;
};

/** A log's signature over the text of a note. */
export async function signNote(text: string, { key, sign }: NoteSigner): Promise<NoteSignature> {
  if (key.type !== "signature") throw new RangeError("The key is a witness's");
  return { name: key.name, keyId: key.id, signature: await sign(textBytes(text)) };
}

/** A witness's signature over the text of a checkpoint and the time, in seconds since 1970 (C2SP tlog-cosignature). */
export async function cosignNote(
  text: string,
  { key, sign }: NoteSigner,
  time: number,
): Promise<NoteSignature> {
  if (key.type !== "cosignature") throw new RangeError("The key is not a witness's");
  if (!isCount(time)) throw new RangeError(`The time ${time} is not a number of seconds`);
  const signature = joinBytes([wholeNumberBytes(time), await sign(cosignedMessage(text, time))]);
  return { name: key.name, keyId: key.id, signature };
}

export function cosignedMessage(text: string, time: number): Bytes {
  return textBytes(`cosignature/v1\ntime ${time}\n${text}`);
}
