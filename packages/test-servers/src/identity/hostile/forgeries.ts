import {
  alterAfterSigning,
  type Claims,
  leaveUnsigned,
  type Signer,
  signWithAnotherKey,
  signWithPublicKeyAsSecret,
  signWithUnknownKeyId,
} from "./sign-id-token.ts";

/** Each forgery changes one thing about an otherwise honest sign-in, so that a rejection has one cause. */
export type Forgery =
  | "wrong-discovery-issuer"
  | "wrong-state"
  | "missing-state"
  | "wrong-redirect-issuer"
  | "missing-redirect-issuer"
  | "missing-id-token"
  | "wrong-issuer"
  | "wrong-audience"
  | "foreign-authorized-party"
  | "wrong-nonce"
  | "missing-nonce"
  | "expired"
  | "not-yet-valid"
  | "missing-subject"
  | "wrong-access-token-hash"
  | "unsigned"
  | "signed-with-another-key"
  | "signed-with-unknown-key-id"
  | "signed-with-public-key-as-secret"
  | "altered-after-signing"
  | "wrong-userinfo-subject";

export type Behaviour = "honest" | Forgery;

/** How a behaviour deviates from the honest sign-in; absent members stay honest. */
export type Deviation = {
  readonly discovery?: (metadata: Claims) => Claims;
  readonly redirect?: (callback: URLSearchParams) => void;
  readonly response?: (tokens: Claims) => Claims;
  readonly claims?: (claims: Claims) => Claims;
  readonly sign?: Signer;
  readonly userinfo?: (claims: Claims) => Claims;
};

const otherIssuer = "https://elsewhere.example";
const hourInSeconds = 3600;

export const deviations: Readonly<Record<Behaviour, Deviation>> = {
  honest: {},
  "wrong-discovery-issuer": { discovery: (metadata) => ({ ...metadata, issuer: otherIssuer }) },
  "wrong-state": { redirect: (callback) => callback.set("state", "another-state") },
  "missing-state": { redirect: (callback) => callback.delete("state") },
  "wrong-redirect-issuer": { redirect: (callback) => callback.set("iss", otherIssuer) },
  "missing-redirect-issuer": { redirect: (callback) => callback.delete("iss") },
  "missing-id-token": { response: (tokens) => omit(tokens, "id_token") },
  "wrong-issuer": { claims: (claims) => ({ ...claims, iss: otherIssuer }) },
  "wrong-audience": { claims: (claims) => ({ ...claims, aud: "another-application" }) },
  "foreign-authorized-party": {
    claims: (claims) => ({
      ...claims,
      aud: [claims["aud"], "another-application"],
      azp: "another-application",
    }),
  },
  "wrong-nonce": { claims: (claims) => ({ ...claims, nonce: "another-nonce" }) },
  "missing-nonce": { claims: (claims) => omit(claims, "nonce") },
  expired: {
    claims: (claims) => ({ ...claims, exp: now() - hourInSeconds, iat: now() - 2 * hourInSeconds }),
  },
  "not-yet-valid": { claims: (claims) => ({ ...claims, nbf: now() + hourInSeconds }) },
  "missing-subject": { claims: (claims) => omit(claims, "sub") },
  "wrong-access-token-hash": { claims: (claims) => ({ ...claims, at_hash: "AAAAAAAAAAAAAAAAAAAAAA" }) },
  unsigned: { sign: leaveUnsigned },
  "signed-with-another-key": { sign: signWithAnotherKey },
  "signed-with-unknown-key-id": { sign: signWithUnknownKeyId },
  "signed-with-public-key-as-secret": { sign: signWithPublicKeyAsSecret },
  "altered-after-signing": { sign: alterAfterSigning },
  "wrong-userinfo-subject": { userinfo: (claims) => ({ ...claims, sub: "somebody-else" }) },
};

function omit(claims: Claims, name: string): Claims {
  return Object.fromEntries(Object.entries(claims).filter(([key]) => key !== name));
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}
