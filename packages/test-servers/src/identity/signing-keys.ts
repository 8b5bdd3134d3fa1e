import { generateKeyPair, type JsonWebKey, randomUUID } from "node:crypto";
import { promisify } from "node:util";

/** A private RS256 key as a JSON Web Key; providers publish its public half under its id. */
export type SigningKey = JsonWebKey & { readonly kid: string; readonly alg: "RS256"; readonly use: "sig" };

export async function makeSigningKey(): Promise<SigningKey> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), alg: "RS256", use: "sig" };
}
