import { isObject } from "../is-object.ts";
import type { SigningKeyRef, SubjectToken } from "./subject-token.ts";

/** A public key as a JSON Web Key, with the members that verification needs. */
export type PublicKey = {
  readonly kid: string;
  readonly kty: string;
  readonly alg?: string;
  readonly use?: string;
  readonly n?: string;
  readonly e?: string;
  readonly crv?: string;
  readonly x?: string;
  readonly y?: string;
};

const maxKeys = 100;
const optionalMembers = ["alg", "use", "n", "e", "crv", "x", "y"] as const;
/** 8192 bits; longer moduli and exponents would make verification slow. */
const maxModulusCharacters = 1400;
const maxExponentCharacters = 8;

/** The keys of a key set that has an id; whatever else is in it is ignored. */
export function readPublicKeys(entries: unknown): readonly PublicKey[] | undefined {
  return Array.isArray(entries) ? entries.slice(0, maxKeys).flatMap(readPublicKey) : undefined;
}

function readPublicKey(entry: unknown): readonly PublicKey[] {
  if (!isObject(entry)) return [];
  const { kid, kty } = entry;
  if (typeof kid !== "string" || typeof kty !== "string") return [];
  const others = optionalMembers.filter((name) => typeof entry[name] === "string");
  return [{ kid, kty, ...Object.fromEntries(others.map((name) => [name, entry[name]])) }];
}

const fittingKeys = {
  RS256: ({ kty, n = "", e = "" }: PublicKey) =>
    kty === "RSA" && n.length <= maxModulusCharacters && e.length <= maxExponentCharacters,
  ES256: ({ kty, crv }: PublicKey) => kty === "EC" && crv === "P-256",
  EdDSA: ({ kty, crv }: PublicKey) => kty === "OKP" && crv === "Ed25519",
} as const;

/**
 * Whether the only key with the token's key id signed it, with the algorithm that fits this key. Several keys with one id
 * are ambiguous, and none of them is tried.
 */
export async function isSignedBy(
  keys: readonly PublicKey[],
  { text }: SubjectToken,
  { algorithm, keyId }: SigningKeyRef,
): Promise<boolean> {
  const [key, ...others] = keys.filter(({ kid }) => kid === keyId);
  if (key === undefined || others.length > 0 || !isUsable(key, algorithm)) return false;
  const { kid: _kid, ...jwk } = key;
  // Loaded for the first exchange only: most servers have none, and are smaller without it.
  const { compactVerify, errors, importJWK } = await import("jose");
  try {
    await compactVerify(text, await importJWK({ ...jwk, alg: algorithm }, algorithm), {
      algorithms: [algorithm],
    });
    return true;
  } catch (error) {
    // A key that is no key throws TypeError or DataError; both are the issuer's mistake.
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException)
      return false;
    throw error;
  }
}

function isUsable(key: PublicKey, algorithm: SigningKeyRef["algorithm"]): boolean {
  const { alg = algorithm, use = "sig" } = key;
  return alg === algorithm && use === "sig" && fittingKeys[algorithm](key);
}
