import { makeWorkloadKey, signWorkloadToken } from "@hearth-and-keep/test-servers";
import type { ConsoleFixture } from "./console-fixture.ts";

/** A platform that signs tokens for its jobs, which Keep cannot reach: a rule needs its keys. */
export type Workload = {
  readonly issuer: string;
  /** A JSON Web Key Set. */
  readonly jwks: object;
  sign(subject: string, audience: string): string;
  /** Exchanges a token as a job does; a refusal is recorded too. */
  present(token: string): Promise<Response>;
};

export function createWorkload({ url }: ConsoleFixture): Workload {
  const issuer = "https://cluster.example";
  const key = makeWorkloadKey();
  const { kty, n, e } = key.publicKey.export({ format: "jwk" });
  return {
    issuer,
    jwks: { keys: [{ kid: key.kid, kty, alg: "RS256", use: "sig", n, e }] },
    sign(subject, audience) {
      const seconds = Math.floor(Date.now() / 1000);
      const times = { iat: seconds, nbf: seconds, exp: seconds + 600 };
      return signWorkloadToken(key, {
        iss: issuer,
        aud: audience,
        ...times,
        jti: crypto.randomUUID(),
        sub: subject,
      });
    },
    present: (token) =>
      fetch(`${url}/api/secrets/tokens/exchange`, {
        method: "POST",
        body: new URLSearchParams({
          grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
          subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
          subject_token: token,
        }),
      }),
  };
}
