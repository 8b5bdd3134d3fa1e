import { createPublicKey, verify } from "node:crypto";
import { request } from "node:https";
import { json } from "node:stream/consumers";
import { expect, test } from "vitest";
import {
  makeWorkloadKey,
  publicJwk,
  signWorkloadToken,
  startWorkloadIssuer,
  type WorkloadIssuer,
} from "./start-workload-issuer.ts";

type Document = { readonly status: number; readonly body: unknown };

/** Trusts the issuer's certificate only. */
function read({ issuer, certificate }: WorkloadIssuer, path: string): Promise<Document> {
  return new Promise((resolve, reject) => {
    const sent = request(`${issuer}${path}`, { ca: certificate, agent: false }, (response) => {
      json(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    });
    sent.on("error", reject).end();
  });
}

const discoveryPath = "/.well-known/openid-configuration";

test("an issuer of workload tokens publishes where its keys are, and the keys that it has now", async () => {
  await using issuer = await startWorkloadIssuer();
  const discovered = { issuer: issuer.issuer, jwks_uri: `${issuer.issuer}/keys` };
  expect(await read(issuer, discoveryPath)).toEqual({ status: 200, body: discovered });
  expect(await read(issuer, "/keys")).toEqual({
    status: 200,
    body: { keys: issuer.keys.map(publicJwk) },
  });
  issuer.keys = [makeWorkloadKey("ES256", "next")];
  expect((await read(issuer, "/keys")).body).toMatchObject({ keys: [{ kid: "next", alg: "ES256" }] });
  expect(issuer.requests).toEqual([discoveryPath, "/keys", "/keys"]);
});

test("an issuer of workload tokens can be away, and return", async () => {
  await using issuer = await startWorkloadIssuer();
  issuer.documents.set("/keys", undefined);
  expect((await read(issuer, "/keys")).status).toBe(503);
  issuer.documents.delete("/keys");
  expect((await read(issuer, "/keys")).status).toBe(200);
});

test.each(["RS256", "ES256", "EdDSA"] as const)("a token is signed with %s", (algorithm) => {
  const key = makeWorkloadKey(algorithm);
  const token = signWorkloadToken(key, { sub: "workload" });
  const [header = "", payload = "", signature = ""] = token.split(".");
  expect(JSON.parse(Buffer.from(header, "base64url").toString())).toMatchObject({
    alg: algorithm,
    kid: key.kid,
  });
  const published = createPublicKey({ key: publicJwk(key), format: "jwk" });
  const isSigned = verify(
    algorithm === "EdDSA" ? null : "sha256",
    Buffer.from(`${header}.${payload}`),
    { key: published, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url"),
  );
  expect(isSigned).toBe(true);
});
