import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  discovery,
  enableNonRepudiationChecks,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from "openid-client";

export const application = {
  id: "application",
  secret: "secret-of-the-application",
  // Nothing listens on this port: the sign-in stops before it visits the callback.
  callback: "http://127.0.0.1:9/callback",
};

export type PendingSignIn = {
  readonly url: URL;
  finish(callback: URL): ReturnType<typeof authorizationCodeGrant>;
};

/** A real OpenID Connect client with strict settings: it also verifies signatures. */
export function discoverProvider(issuer: string): Promise<Configuration> {
  return discovery(new URL(issuer), application.id, undefined, ClientSecretPost(application.secret), {
    execute: [allowInsecureRequests, enableNonRepudiationChecks],
  });
}

export async function beginSignIn(
  configuration: Configuration,
  scope = "openid email profile",
): Promise<PendingSignIn> {
  const pkceCodeVerifier = randomPKCECodeVerifier();
  const [expectedState, expectedNonce] = [randomState(), randomNonce()];
  const url = buildAuthorizationUrl(configuration, {
    redirect_uri: application.callback,
    scope,
    state: expectedState,
    nonce: expectedNonce,
    code_challenge: await calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
  });
  const checks = { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true };
  return { url, finish: (callback) => authorizationCodeGrant(configuration, callback, checks) };
}
