import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Members = Readonly<Record<string, unknown>>;

/** Where a provider departs from the honest answer; what is absent stays honest. */
export type Script = {
  readonly claims?: (claims: Members) => Members;
  readonly header?: (header: Members) => Members;
  /** HS256 with this secret in place of the published key. */
  readonly secret?: string;
  /** Signs with a key that is not published, under the name of the one that is. */
  readonly isStrangersKey?: boolean;
  /** In place of the honest answer at a path. */
  readonly at?: Readonly<Record<string, (response: ServerResponse) => void>>;
};

export type FakeProvider = AsyncDisposable & {
  readonly origin: string;
  behave(script: Script): void;
  /** What a browser would be sent back to; nobody is asked for anything. */
  callbackFor(authorizationUrl: URL, change?: Readonly<Record<string, string>>): URL;
};

export const fakeClient = { id: "keep", secret: "a-secret-of-keep-that-signs-nothing-at-all" };

/** Both kinds of provider at one address, which answer whatever a test writes down. */
export async function startFakeProvider(): Promise<FakeProvider> {
  const [key, strangersKey] = [0, 1].map(() => generateKeyPairSync("rsa", { modulusLength: 2048 }));
  if (key === undefined || strangersKey === undefined) throw new Error("Two keys were made");
  let script: Script = {};
  let nonce = "";
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://provider.test");
    const scripted = script.at?.[pathname];
    if (scripted !== undefined) return scripted(response);
    const signer = { script, privateKey: (script.isStrangersKey === true ? strangersKey : key).privateKey };
    const honest = honestAnswer(pathname, {
      origin: originOf(request),
      nonce,
      signer,
      publicKey: key.publicKey,
    });
    return answerJson(response, honest);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on TCP has an AddressInfo.
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  return {
    origin,
    behave: (next) => {
      script = next;
    },
    callbackFor(authorizationUrl, change = {}) {
      const asked = authorizationUrl.searchParams;
      nonce = asked.get("nonce") ?? "";
      const callback = new URL(asked.get("redirect_uri") ?? "");
      const honest = { code: "a-code", state: asked.get("state") ?? "" };
      callback.search = new URLSearchParams({ ...honest, ...change }).toString();
      return callback;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

export function answerJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

type Signer = { readonly script: Script; readonly privateKey: KeyObject };
type Scene = {
  readonly origin: string;
  readonly nonce: string;
  readonly signer: Signer;
  readonly publicKey: KeyObject;
};

function honestAnswer(path: string, { origin, nonce, signer, publicKey }: Scene): unknown {
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

function signToken(honest: Members, { script, privateKey }: Signer): string {
  const alg = script.secret === undefined ? "RS256" : "HS256";
  const header = { alg, typ: "JWT", kid: "published" };
  const signed = [script.header?.(header) ?? header, script.claims?.(honest) ?? honest]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  const signature =
    script.secret === undefined
      ? sign("sha256", Buffer.from(signed), privateKey)
      : createHmac("sha256", script.secret).update(signed).digest();
  return `${signed}.${signature.toString("base64url")}`;
}

function originOf({ headers }: IncomingMessage): string {
  return `http://${headers.host}`;
}
