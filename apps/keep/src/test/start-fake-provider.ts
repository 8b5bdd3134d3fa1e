import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Members = Readonly<Record<string, unknown>>;

/** Deviations from the valid responses; absent ones are not changed. */
export type ProviderOverrides = {
  readonly claims?: (claims: Members) => Members;
  readonly header?: (header: Members) => Members;
  /** Signs with HS256 and this secret instead of the published key. */
  readonly secret?: string;
  /** Signs with an unpublished key under the key id of the published one. */
  readonly usesUnpublishedKey?: boolean;
  /** Replaces the valid response at a path. */
  readonly handlers?: Readonly<Record<string, (response: ServerResponse) => void>>;
};

export type FakeProvider = AsyncDisposable & {
  readonly origin: string;
  override(overrides: ProviderOverrides): void;
  /** The callback URL that the provider would redirect to, without any interaction. */
  callbackFor(authorizationUrl: URL, change?: Readonly<Record<string, string>>): URL;
};

export const fakeClient = { id: "keep", secret: "a-secret-of-keep-that-signs-nothing-at-all" };

/** Both kinds of provider on one server, with responses that a test can override. */
export async function startFakeProvider(): Promise<FakeProvider> {
  const [key, unpublishedKey] = [0, 1].map(() => generateKeyPairSync("rsa", { modulusLength: 2048 }));
  if (key === undefined || unpublishedKey === undefined) throw new Error("Expected two keys");
  let overrides: ProviderOverrides = {};
  let nonce = "";
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://provider.test");
    const handler = overrides.handlers?.[pathname];
    if (handler !== undefined) return handler(response);
    const signer = {
      overrides,
      privateKey: (overrides.usesUnpublishedKey === true ? unpublishedKey : key).privateKey,
    };
    const body = defaultResponse(pathname, {
      origin: originOf(request),
      nonce,
      signer,
      publicKey: key.publicKey,
    });
    return writeJson(response, body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on TCP has an AddressInfo.
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  return {
    origin,
    override: (next) => {
      overrides = next;
    },
    callbackFor(authorizationUrl, change = {}) {
      const parameters = authorizationUrl.searchParams;
      nonce = parameters.get("nonce") ?? "";
      const callback = new URL(parameters.get("redirect_uri") ?? "");
      const valid = { code: "a-code", state: parameters.get("state") ?? "" };
      callback.search = new URLSearchParams({ ...valid, ...change }).toString();
      return callback;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

export function writeJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

type Signer = { readonly overrides: ProviderOverrides; readonly privateKey: KeyObject };
type ResponseContext = {
  readonly origin: string;
  readonly nonce: string;
  readonly signer: Signer;
  readonly publicKey: KeyObject;
};

function defaultResponse(path: string, { origin, nonce, signer, publicKey }: ResponseContext): unknown {
  const seconds = Math.floor(Date.now() / 1000);
  const claims = { iss: origin, aud: fakeClient.id, sub: "301", nonce, iat: seconds, exp: seconds + 300 };
  switch (path) {
    case "/.well-known/openid-configuration":
      return {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        jwks_uri: `${origin}/keys`,
        id_token_signing_alg_values_supported: ["RS256", "HS256", "none"],
      };
    case "/keys":
      return {
        keys: [{ ...publicKey.export({ format: "jwk" }), kid: "published", alg: "RS256", use: "sig" }],
      };
    case "/token":
      return { access_token: "an-access-token", token_type: "Bearer", id_token: signToken(claims, signer) };
    case "/login/oauth/access_token":
      return { access_token: "an-access-token", token_type: "bearer", scope: "user:email" };
    case "/user":
      return { id: 401, login: "somebody", name: "Somebody" };
    case "/user/emails":
      return [{ email: "somebody@example.com", primary: true, verified: true }];
    default:
      return {};
  }
}

function signToken(claims: Members, { overrides, privateKey }: Signer): string {
  const alg = overrides.secret === undefined ? "RS256" : "HS256";
  const header = { alg, typ: "JWT", kid: "published" };
  const signed = [overrides.header?.(header) ?? header, overrides.claims?.(claims) ?? claims]
    .map((segment) => Buffer.from(JSON.stringify(segment)).toString("base64url"))
    .join(".");
  const signature =
    overrides.secret === undefined
      ? sign("sha256", Buffer.from(signed), privateKey)
      : createHmac("sha256", overrides.secret).update(signed).digest();
  return `${signed}.${signature.toString("base64url")}`;
}

function originOf({ headers }: IncomingMessage): string {
  return `http://${headers.host}`;
}
