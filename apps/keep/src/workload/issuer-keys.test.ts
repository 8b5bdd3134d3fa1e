import { type Outbound, OutboundError, type OutboundResponse } from "@hearth-and-keep/outbound-http";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createIssuerKeys } from "./issuer-keys.ts";

const issuer = "https://issuer.example";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** An issuer whose documents can be replaced. */
function startIssuer() {
  const requests: string[] = [];
  const documents: Record<string, unknown> = {
    "/.well-known/openid-configuration": { issuer, jwks_uri: `${issuer}/keys` },
    "/keys": keySet("first"),
  };
  const outbound: Pick<Outbound, "request"> = {
    request: ({ pathname, host }, { headers } = {}) => {
      requests.push(pathname);
      const types = headers?.["accept"]?.split(", ") ?? [];
      const status = types.includes(contentTypes[pathname] ?? "application/json") ? 200 : 406;
      const document = documents[pathname];
      if (document === undefined) return Promise.reject(new OutboundError(host, "timed-out"));
      const text = typeof document === "string" ? document : JSON.stringify(document);
      // The members that are used.
      return Promise.resolve({
        status,
        readAll: () => Promise.resolve(Buffer.from(text)),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      } as unknown as OutboundResponse);
    },
  };
  const contentTypes: Record<string, string> = {};
  const keys = createIssuerKeys(outbound);
  const find = async (kid: string, of = issuer) => (await keys.find(of, kid))?.map((key) => key.kid);
  return { documents, contentTypes, requests, find };
}

function keySet(...kids: readonly string[]): object {
  return { keys: kids.map((kid) => ({ kid, kty: "RSA", n: "AQAB", e: "AQAB" })) };
}

const seconds = (count: number): void => void vi.advanceTimersByTime(count * 1000);

test("keys are fetched once for many tokens, and again for an unknown key id at most every 30 seconds", async () => {
  const { documents, requests, find } = startIssuer();
  expect(await Promise.all(Array.from({ length: 20 }, () => find("first")))).toEqual(
    Array.from({ length: 20 }, () => ["first"]),
  );
  expect(requests.length).toBe(2);
  documents["/keys"] = keySet("second");
  seconds(29);
  expect(await Promise.all([find("second"), find("made-up"), find("first")])).toEqual([[], [], ["first"]]);
  expect(requests.length).toBe(2);
  seconds(2);
  expect(await Promise.all([find("second"), find("made-up"), find("second")])).toEqual([
    ["second"],
    [],
    ["second"],
  ]);
  expect(requests.length).toBe(4);
  // A key that is no longer published verifies nothing.
  expect(await find("first")).toEqual([]);
});

test("keys are used for an hour while the issuer does not respond", async () => {
  const { documents, requests, find } = startIssuer();
  expect(await find("first")).toEqual(["first"]);
  const { "/keys": published } = documents;
  documents["/keys"] = undefined;
  seconds(11 * 60);
  expect(await find("first")).toEqual(["first"]);
  expect(requests.length).toBe(4);
  expect(await find("first")).toEqual(["first"]);
  expect(requests.length).toBe(4);
  seconds(50 * 60);
  expect(await find("first")).toBeUndefined();
  seconds(31);
  documents["/keys"] = published;
  expect(await find("first")).toEqual(["first"]);
});

test("a Kubernetes API server, which offers its keys under their own media type only, is not refused", async () => {
  const { contentTypes, find } = startIssuer();
  contentTypes["/keys"] = "application/jwk-set+json";
  expect(await find("first")).toEqual(["first"]);
});

test("a discovery document of another issuer, or with keys that are not on HTTPS, is not used", async () => {
  for (const document of [
    { issuer: `${issuer}/`, jwks_uri: `${issuer}/keys` },
    { issuer, jwks_uri: "http://issuer.example/keys" },
    { issuer, jwks_uri: 1 },
    { jwks_uri: `${issuer}/keys` },
    [issuer],
    "no JSON",
  ]) {
    const { documents, find } = startIssuer();
    documents["/.well-known/openid-configuration"] = document;
    expect(await find("first")).toBeUndefined();
  }
});
