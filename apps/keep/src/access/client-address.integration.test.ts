import { expect, test } from "vitest";
import { startTestKeep } from "../test/start-test-keep.ts";

const path = "/api/secrets/vaults";

test("without trusted proxies a forwarded address is ignored and does not satisfy a token's address restriction", async () => {
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const elsewhere = await keep.addToken(person, { scopes: ["vaults:read"], addresses: ["203.0.113.0/24"] });
  const here = await keep.addToken(person, { scopes: ["vaults:read"], addresses: ["127.0.0.0/8", "::1"] });
  const headers = { "x-forwarded-for": "203.0.113.7" };
  expect((await keep.request(path, { token: elsewhere.text, headers })).status).toBe(401);
  expect((await keep.request(path, { token: here.text, headers })).status).toBe(200);
});

test("behind a trusted proxy only the address that the proxy itself appended counts", async () => {
  await using keep = await startTestKeep({ settings: { trustedProxies: "127.0.0.1" } });
  const person = await keep.addPerson();
  const elsewhere = await keep.addToken(person, { scopes: ["vaults:read"], addresses: ["203.0.113.0/24"] });
  const here = await keep.addToken(person, { scopes: ["vaults:read"], addresses: ["127.0.0.0/8"] });
  const from = (forwarded: string, token: string) =>
    keep.request(path, { token, headers: { "x-forwarded-for": forwarded } });
  expect((await from("203.0.113.7", elsewhere.text)).status).toBe(200);
  expect((await from("203.0.113.7", here.text)).status).toBe(401);
  // The client wrote the first address, the proxy appended the second.
  expect((await from("203.0.113.7, 198.51.100.1", elsewhere.text)).status).toBe(401);
  expect((await from("198.51.100.1, 203.0.113.7", elsewhere.text)).status).toBe(200);
});
