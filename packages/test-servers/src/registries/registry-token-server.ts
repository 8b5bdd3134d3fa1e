import { generateKeyPairSync, type JsonWebKey, randomUUID, sign } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { serveOnLoopback } from "../loopback-server.ts";
import { testAccount } from "./registry-account.ts";
import { type KeyPair, makeSelfSignedCertificate } from "./self-signed-certificate.ts";

export type RegistryTokenServer = AsyncDisposable & {
  readonly realm: string;
  readonly service: string;
  readonly issuer: string;
  /** The certificate whose key signs the tokens, as PEM. */
  readonly certificate: string;
};

const service = "test-registry";
const issuer = "test-token-issuer";
const tokenSeconds = 300;

/**
 * Issues the bearer tokens that a registry's 401 response requires: anyone may pull, the test account may do
 * everything, and a wrong password gets 401.
 */
export async function startRegistryTokenServer(): Promise<RegistryTokenServer> {
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const server = await serveOnLoopback((request, response) => issueToken(keys, request, response));
  return {
    realm: `${server.origin}/token`,
    service,
    issuer,
    certificate: makeSelfSignedCertificate(issuer, keys),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function issueToken(keys: KeyPair, request: IncomingMessage, response: ServerResponse): void {
  const caller = identify(request.headers.authorization);
  if (caller === "wrong-password") {
    response.writeHead(401, { "www-authenticate": `Basic realm="${service}"` }).end();
    return;
  }
  const { searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
  const access = searchParams.getAll("scope").flatMap((scope) => grant(scope, caller));
  const token = signToken(keys, { caller, access });
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ token, access_token: token, expires_in: tokenSeconds }));
}

type Caller = "anonymous" | "account";
type Access = { readonly type: string; readonly name: string; readonly actions: readonly string[] };

function identify(authorization: string | undefined): Caller | "wrong-password" {
  if (authorization === undefined) return "anonymous";
  const expected = Buffer.from(`${testAccount.name}:${testAccount.password}`).toString("base64");
  return authorization === `Basic ${expected}` ? "account" : "wrong-password";
}

/** A scope is "repository:<name>:<action>,<action>"; the name may contain a port, so it is parsed from both ends. */
function grant(scope: string, caller: Caller): Access[] {
  const match = /^([^:]+):(.+):([^:]+)$/.exec(scope);
  if (match === null) return [];
  const [, type = "", name = "", actions = ""] = match;
  const allowed = actions.split(",").filter((action) => caller === "account" || action === "pull");
  return [{ type, name, actions: allowed }];
}

function signToken(keys: KeyPair, { caller, access }: { caller: Caller; access: readonly Access[] }): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: issuer,
    sub: caller === "account" ? testAccount.name : "",
    aud: service,
    iat: now,
    nbf: now - 5,
    exp: now + tokenSeconds,
    jti: randomUUID(),
    access,
  };
  // The registry verifies the key against the certificate in its configuration.
  const jwk: JsonWebKey = keys.publicKey.export({ format: "jwk" });
  const head = { typ: "JWT", alg: "ES256", jwk };
  const unsigned = `${encode(head)}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(unsigned), {
    key: keys.privateKey,
    dsaEncoding: "ieee-p1363",
  });
  return `${unsigned}.${signature.toString("base64url")}`;
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
