import { createHmac, createPrivateKey, createPublicKey, sign } from "node:crypto";
import type { SigningKey } from "../signing-keys.ts";

export type Claims = Readonly<Record<string, unknown>>;

export type SigningOptions = {
  /** The key the provider publishes. */
  readonly key: SigningKey;
  /** A key that the provider does not publish. */
  readonly unpublishedKey: SigningKey;
};

/** Creates the ID token that the provider returns. */
export type Signer = (claims: Claims, options: SigningOptions) => string;

export const signHonestly: Signer = (claims, { key }) => signWith(key, claims);

export const leaveUnsigned: Signer = (claims) => `${encodeUnsigned({ alg: "none", typ: "JWT" }, claims)}.`;

export const signWithAnotherKey: Signer = (claims, { key, unpublishedKey }) =>
  signWith({ ...unpublishedKey, kid: key.kid }, claims);

export const signWithUnknownKeyId: Signer = (claims, { unpublishedKey }) => signWith(unpublishedKey, claims);

/** A verifier that trusts the token's algorithm would check this HMAC with the public key, which is not secret. */
export const signWithPublicKeyAsSecret: Signer = (claims, { key }) => {
  const secret = createPublicKey({ key, format: "jwk" }).export({ type: "spki", format: "pem" });
  const signed = encodeUnsigned({ alg: "HS256", typ: "JWT", kid: key.kid }, claims);
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
};

export const alterAfterSigning: Signer = (claims, options) => {
  const [header = "", , signature = ""] = signHonestly(claims, options).split(".");
  return `${header}.${encode({ ...claims, sub: "somebody-else" })}.${signature}`;
};

function signWith(key: SigningKey, claims: Claims): string {
  const signed = encodeUnsigned({ alg: key.alg, typ: "JWT", kid: key.kid }, claims);
  const signature = sign("sha256", Buffer.from(signed), createPrivateKey({ key, format: "jwk" }));
  return `${signed}.${signature.toString("base64url")}`;
}

function encodeUnsigned(header: Claims, claims: Claims): string {
  return `${encode(header)}.${encode(claims)}`;
}

function encode(segment: Claims): string {
  return Buffer.from(JSON.stringify(segment)).toString("base64url");
}
