import { expect, test } from "vitest";
import { startTestServer, type TestServer } from "../test/start-test-server.ts";
import { accessKey } from "./keys.ts";

const key = "canary-key";
const page = "http://localhost:3000";

function startWithKey(): Promise<TestServer> {
  return startTestServer({ models: {}, script: () => [], access: { keys: [accessKey("one", key)] } });
}

function sendOptions(url: string, headers: Record<string, string>): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, { method: "OPTIONS", headers });
}

const preflight = {
  "access-control-request-method": "POST",
  "access-control-request-headers": "authorization,content-type,x-stainless-os",
};

test("a preflight request from an allowed page needs no key, and its requested headers are allowed", async () => {
  await using server = await startWithKey();
  const response = await sendOptions(server.url, { ...preflight, origin: page });
  expect(response.status).toBe(204);
  expect(response.headers.get("access-control-allow-origin")).toBe(page);
  expect(response.headers.get("access-control-allow-methods")).toContain("POST");
  expect(response.headers.get("access-control-allow-headers")).toBe(
    preflight["access-control-request-headers"],
  );
  expect(response.headers.get("access-control-allow-credentials")).toBeNull();
});

test("a preflight request from another site is rejected, and any other OPTIONS request needs the key", async () => {
  await using server = await startWithKey();
  const foreign = await sendOptions(server.url, { ...preflight, origin: "https://evil.com" });
  expect([foreign.status, foreign.headers.get("access-control-allow-origin")]).toEqual([403, null]);
  expect((await sendOptions(server.url, { origin: page })).status).toBe(401);
  expect((await sendOptions(server.url, {})).status).toBe(401);
  expect((await sendOptions(server.url, { authorization: `Bearer ${key}` })).status).toBe(204);
});

const neededHeaders = [
  "x-request-id",
  "request-id",
  "retry-after",
  "x-context-truncated",
  "hearth-ignored",
  "hearth-runs-on",
  "hearth-queue-position",
  "hearth-queue-seconds",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-reset-tokens",
  "anthropic-ratelimit-tokens-remaining",
];

test("an allowed page may read responses, errors and the headers it needs; other pages may not", async () => {
  await using server = await startWithKey();
  for (const authorization of [`Bearer ${key}`, "Bearer wrong"]) {
    const response = await fetch(`${server.url}/v1/models`, { headers: { authorization, origin: page } });
    expect(response.headers.get("access-control-allow-origin")).toBe(page);
    expect(response.headers.get("vary")).toBe("origin");
    const exposed = response.headers.get("access-control-expose-headers")?.split(", ");
    expect(exposed).toEqual(expect.arrayContaining(neededHeaders));
  }
  const foreign = await fetch(`${server.url}/v1/models`, {
    headers: { authorization: `Bearer ${key}`, origin: "https://evil.com" },
  });
  expect([foreign.status, foreign.headers.get("access-control-allow-origin")]).toEqual([403, null]);
});

test("a page that asks for private network access gets it", async () => {
  await using server = await startWithKey();
  const headers = { ...preflight, origin: page, "access-control-request-private-network": "true" };
  const response = await sendOptions(server.url, headers);
  expect(response.headers.get("access-control-allow-private-network")).toBe("true");
  const unasked = await sendOptions(server.url, { ...preflight, origin: page });
  expect(unasked.headers.get("access-control-allow-private-network")).toBeNull();
});
