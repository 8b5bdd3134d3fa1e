import { generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import { listenOnLoopback } from "../loopback-port.ts";
import { makeSelfSignedCertificate } from "../registries/self-signed-certificate.ts";

type SigningAlgorithm = "RS256" | "ES256" | "EdDSA";

export type WorkloadKey = {
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
};

/** An issuer of tokens for workloads: discovery and keys over HTTPS, as CI systems and clusters publish them. */
export type WorkloadIssuer = AsyncDisposable & {
  /** Without a slash at its end. */
  readonly issuer: string;
  readonly host: string;
  /** Of the server, to be trusted by its clients. */
  readonly certificate: string;
  /** Published keys; may be changed at any time. */
  keys: WorkloadKey[];
  /** Replaces a document, by its path; undefined for an outage. */
  readonly documents: Map<string, object | undefined>;
  /** Paths requested so far. */
  readonly requests: string[];
};

export function makeWorkloadKey(
  algorithm: SigningAlgorithm = "RS256",
  kid: string = randomUUID(),
): WorkloadKey {
  return { kid, algorithm, ...generatePair(algorithm) };
}

function generatePair(algorithm: SigningAlgorithm) {
  if (algorithm === "RS256") return generateKeyPairSync("rsa", { modulusLength: 2048 });
  return algorithm === "ES256"
    ? generateKeyPairSync("ec", { namedCurve: "P-256" })
    : generateKeyPairSync("ed25519");
}

/** A token with this payload, which may be any JSON text. */
export function signWorkloadToken(
  key: WorkloadKey,
  payload: object | string,
  header: Readonly<Record<string, unknown>> = {},
): string {
  const fields = { alg: key.algorithm, kid: key.kid, typ: "JWT", ...header };
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  const signed = [JSON.stringify(fields), text]
    .map((part) => Buffer.from(part).toString("base64url"))
    .join(".");
  const hash = key.algorithm === "EdDSA" ? null : "sha256";
  const signature = sign(hash, Buffer.from(signed), { key: key.privateKey, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}

export function publicJwk({ kid, algorithm, publicKey }: WorkloadKey): Readonly<Record<string, unknown>> {
  return { ...publicKey.export({ format: "jwk" }), kid, alg: algorithm, use: "sig" };
}

const discoveryPath = "/.well-known/openid-configuration";

export async function startWorkloadIssuer(): Promise<WorkloadIssuer> {
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const certificate = makeSelfSignedCertificate("localhost", keys);
  const privateKey = keys.privateKey.export({ type: "pkcs8", format: "pem" });
  const requests: string[] = [];
  const documents = new Map<string, object | undefined>();
  const server = createServer({ cert: certificate, key: privateKey }, ({ url: path = "" }, response) => {
    requests.push(path);
    respond(response, documents.has(path) ? documents.get(path) : defaultDocument(path));
  });
  const host = `localhost:${await listenOnLoopback(server)}`;
  const issuer = `https://${host}`;
  const defaultDocument = (path: string): object | undefined => {
    if (path === discoveryPath) return { issuer, jwks_uri: `${issuer}/keys` };
    return path === "/keys" ? { keys: workloadIssuer.keys.map(publicJwk) } : undefined;
  };
  const workloadIssuer: WorkloadIssuer = {
    issuer,
    host,
    certificate,
    keys: [makeWorkloadKey()],
    documents,
    requests,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return workloadIssuer;
}

function respond(response: ServerResponse, document: object | undefined): void {
  response.writeHead(document === undefined ? 503 : 200, { "content-type": "application/json" });
  response.end(JSON.stringify(document ?? {}));
}
