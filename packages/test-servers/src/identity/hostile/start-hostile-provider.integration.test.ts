import { createHash } from "node:crypto";
import { fetchUserInfo } from "openid-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { beginSignIn, discoverProvider } from "../relying-application.ts";
import type { Behaviour, Forgery } from "./forgeries.ts";
import { type HostileIdentityProvider, startHostileIdentityProvider } from "./start-hostile-provider.ts";

let provider: HostileIdentityProvider;
beforeAll(async () => {
  provider = await startHostileIdentityProvider();
});
afterAll(() => provider[Symbol.asyncDispose]());

type RejectedForgery = Exclude<Forgery, "wrong-access-token-hash">;

/** A strict client's error for each forgery; a missing entry does not compile. */
const rejections: Readonly<Record<RejectedForgery, string>> = {
  "wrong-discovery-issuer": "discovered metadata issuer does not match",
  "wrong-state": 'unexpected "state" response parameter value',
  "missing-state": 'response parameter "state" missing',
  "wrong-redirect-issuer": 'unexpected "iss" (issuer) response parameter value',
  "missing-redirect-issuer": 'response parameter "iss" (issuer) missing',
  "missing-id-token": '"id_token" property must be a string',
  "wrong-issuer": 'unexpected JWT "iss" (issuer) claim value',
  "wrong-audience": 'unexpected JWT "aud" (audience) claim value',
  "foreign-authorized-party": 'unexpected ID Token "azp" (authorized party) claim value',
  "wrong-nonce": 'unexpected ID Token "nonce" claim value',
  "missing-nonce": 'JWT "nonce" (nonce) claim missing',
  expired: 'unexpected JWT "exp" (expiration time) claim value',
  "not-yet-valid": 'unexpected JWT "nbf" (not before) claim value',
  "missing-subject": 'JWT "sub" (subject) claim missing',
  unsigned: 'unexpected JWT "alg" header parameter',
  "signed-with-another-key": "JWT signature verification failed",
  "signed-with-unknown-key-id": "no applicable keys found",
  "signed-with-public-key-as-secret": 'unexpected JWT "alg" header parameter',
  "altered-after-signing": "JWT signature verification failed",
  "wrong-userinfo-subject": 'unexpected "response" body "sub" property value',
};

test("the honest behaviour is accepted by a strict client", async () => {
  const { user } = await signIn("honest");
  expect(user).toEqual({ sub: "100", email: "first@example.com", email_verified: true });
});

// Every key of the table is a forgery; Object.entries widens them to strings.
test.each(Object.entries(rejections) as [RejectedForgery, string][])(
  "a strict client rejects the forgery %s, and the next honest sign-in succeeds",
  async (forgery, reason) => {
    expect(await describeRejection(signIn(forgery))).toContain(reason);
    expect((await signIn("honest")).user.sub).toBe("100");
  },
);

test("the access token hash matches when honest and not when forged; verifying it is left to the application", async () => {
  const honest = await signIn("honest");
  expect(honest.claimedHash).toBe(honest.correctHash);
  const forged = await signIn("wrong-access-token-hash");
  expect(forged.claimedHash).not.toBe(forged.correctHash);
});

async function signIn(behaviour: Behaviour) {
  provider.behaveAs(behaviour);
  const configuration = await discoverProvider(provider.issuer);
  const pending = await beginSignIn(configuration);
  const tokens = await pending.finish(await provider.signIn(pending.url));
  const claims = tokens.claims();
  const digest = createHash("sha256").update(tokens.access_token).digest();
  return {
    user: await fetchUserInfo(configuration, tokens.access_token, claims?.sub ?? ""),
    claimedHash: claims?.["at_hash"],
    correctHash: digest.subarray(0, digest.length / 2).toString("base64url"),
  };
}

async function describeRejection(attempt: Promise<unknown>): Promise<string> {
  const error = await attempt.then(
    () => new Error("it was accepted"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error)) return String(error);
  return `${error.message}: ${error.cause instanceof Error ? error.cause.message : "no cause"}`;
}
