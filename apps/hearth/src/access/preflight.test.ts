import { expect, test } from "vitest";
import { startTestServer, type TestServer } from "../test/start-test-server.ts";
import { accessKey } from "./keys.ts";

const key = "canary-key";
const page = "http://localhost:3000";

function startWithKey(): Promise<TestServer> {
  return startTestServer({ models: {}, script: () => [], access: { keys: [accessKey("one", key)] } });
}

function ask(url: string, headers: Record<string, string>): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, { method: "OPTIONS", headers });
}

const question = {
  "access-control-request-method": "POST",
  "access-control-request-headers": "authorization,content-type,x-stainless-os",
};

test("a preflight of an allowed page is answered without a key, and lets it send what it asked for", async () => {
  await using server = await startWithKey();
  const response = await ask(server.url, { ...question, origin: page });
  expect(response.status).toBe(204);
  expect(response.headers.get("access-control-allow-origin")).toBe(page);
  expect(response.headers.get("access-control-allow-methods")).toContain("POST");
  expect(response.headers.get("access-control-allow-headers")).toBe(
    question["access-control-request-headers"],
  );
  expect(response.headers.get("access-control-allow-credentials")).toBeNull();
});

test("a preflight of another site is refused, and an OPTIONS that is none needs the key", async () => {
  await using server = await startWithKey();
  const foreign = await ask(server.url, { ...question, origin: "https://evil.com" });
  expect([foreign.status, foreign.headers.get("access-control-allow-origin")]).toEqual([403, null]);
  expect((await ask(server.url, { origin: page })).status).toBe(401);
  expect((await ask(server.url, {})).status).toBe(401);
  expect((await ask(server.url, { authorization: `Bearer ${key}` })).status).toBe(204);
});

test("answers and refusals let an allowed page read them and the headers it needs, and no other page", async () => {
  await using server = await startWithKey();
  for (const authorization of [`Bearer ${key}`, "Bearer wrong"]) {
    const response = await fetch(`${server.url}/v1/models`, { headers: { authorization, origin: page } });
    expect(response.headers.get("access-control-allow-origin")).toBe(page);
    expect(response.headers.get("vary")).toBe("origin");
    expect(response.headers.get("access-control-expose-headers")).toBe(
      "x-request-id, request-id, x-context-truncated, retry-after",
    );
  }
  const foreign = await fetch(`${server.url}/v1/models`, {
    headers: { authorization: `Bearer ${key}`, origin: "https://evil.com" },
  });
  expect([foreign.status, foreign.headers.get("access-control-allow-origin")]).toEqual([403, null]);
});

test("a page is told that it may reach into a private network when it asks", async () => {
  await using server = await startWithKey();
  const asked = { ...question, origin: page, "access-control-request-private-network": "true" };
  const response = await ask(server.url, asked);
  expect(response.headers.get("access-control-allow-private-network")).toBe("true");
  const unasked = await ask(server.url, { ...question, origin: page });
  expect(unasked.headers.get("access-control-allow-private-network")).toBeNull();
});
