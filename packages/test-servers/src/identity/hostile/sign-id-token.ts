import { createHmac, createPrivateKey, createPublicKey, sign } from "node:crypto";
import type { SigningKey } from "../signing-keys.ts";

export type Claims = Readonly<Record<string, unknown>>;

export type SigningOptions = {
  /** The key the provider publishes. */
  readonly key: SigningKey;
  /** A key nobody has heard of. */
  readonly unpublishedKey: SigningKey;
};

/** Turns claims into the ID token that leaves the provider. */
export type Signer = (claims: Claims, parts: SigningOptions) => string;

export const signHonestly: Signer = (claims, { key }) => signWith(key, claims);

export const leaveUnsigned: Signer = (claims) => `${encodeParts({ alg: "none", typ: "JWT" }, claims)}.`;

export const signWithAnotherKey: Signer = (claims, { key, unpublishedKey }) =>
  signWith({ ...unpublishedKey, kid: key.kid }, claims);

export const signWithUnknownKeyId: Signer = (claims, { unpublishedKey }) => signWith(unpublishedKey, claims);

/** A verifier that takes the algorithm from the token would check this with the published key, which everyone has. */
export const signWithPublicKeyAsSecret: Signer = (claims, { key }) => {
  const secret = createPublicKey({ key, format: "jwk" }).export({ type: "spki", format: "pem" });
  const signed = encodeParts({ alg: "HS256", typ: "JWT", kid: key.kid }, claims);
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
};

export const alterAfterSigning: Signer = (claims, parts) => {
  const [header = "", , signature = ""] = signHonestly(claims, parts).split(".");
  return `${header}.${encode({ ...claims, sub: "somebody-else" })}.${signature}`;
};

function signWith(key: SigningKey, claims: Claims): string {
  const signed = encodeParts({ alg: key.alg, typ: "JWT", kid: key.kid }, claims);
  const signature = sign("sha256", Buffer.from(signed), createPrivateKey({ key, format: "jwk" }));
  return `${signed}.${signature.toString("base64url")}`;
}

function encodeParts(header: Claims, claims: Claims): string {
  return `${encode(header)}.${encode(claims)}`;
}

function encode(part: Claims): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}
