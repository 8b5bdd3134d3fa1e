import { afterAll, beforeAll, expect, test } from "vitest";
import { routes } from "../routes.ts";
import { startTestServer, type TestServer } from "../test/start-test-server.ts";
import { accessKey } from "./keys.ts";
import { sendRaw } from "./test/raw-request.ts";

const key = "canary-key";
const host = "localhost:11434";
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ models: {}, script: () => [], access: { keys: [accessKey("one", key)] } });
});
afterAll(() => server[Symbol.asyncDispose]());

const credentials = {
  Basic: `Basic ${btoa(`somebody:${key}`)}`,
  "basic in lower case": `basic ${btoa(`somebody:${key}`)}`,
  Bearer: `Bearer ${key}`,
} as const;

type Sender = {
  readonly what: string;
  readonly headers: readonly (readonly [string, string])[];
  /** Whether Basic credentials may authorize unsafe methods. */
  readonly isTrusted: boolean;
  /** Whether the site may call at all, with any credential. */
  readonly isAllowed: boolean;
};

const json = ["content-type", "application/json"] as const;
const senders: readonly Sender[] = [
  { what: "a program", headers: [json], isTrusted: true, isAllowed: true },
  {
    what: "the page itself",
    headers: [json, ["origin", `http://${host}`], ["sec-fetch-site", "same-origin"]],
    isTrusted: true,
    isAllowed: true,
  },
  {
    what: "another page on this machine",
    headers: [json, ["origin", "http://localhost:3000"], ["sec-fetch-site", "same-site"]],
    isTrusted: false,
    isAllowed: true,
  },
  {
    what: "a page of a desktop app",
    headers: [json, ["origin", "app://chat"]],
    isTrusted: false,
    isAllowed: true,
  },
  {
    what: "a browser without an Origin header",
    headers: [json, ["sec-fetch-site", "same-origin"]],
    isTrusted: false,
    isAllowed: true,
  },
  {
    what: "a Node program, whose fetch sends Sec-Fetch-Mode",
    headers: [json, ["sec-fetch-mode", "cors"]],
    isTrusted: true,
    isAllowed: true,
  },
  {
    what: "another site",
    headers: [json, ["origin", "https://evil.com"], ["sec-fetch-site", "cross-site"]],
    isTrusted: false,
    isAllowed: false,
  },
];

const unsafe = routes.filter(({ method }) => method !== "GET" && method !== "HEAD");

test("in browsers, Basic credentials authorize unsafe methods only from the same origin; programs and Bearer are unaffected", async () => {
  const found: string[] = [];
  const expected: string[] = [];
  for (const { method, path } of unsafe) {
    for (const { what, headers, isTrusted, isAllowed } of senders) {
      for (const [form, authorization] of Object.entries(credentials)) {
        const { status } = await sendRaw(server.url, {
          method,
          path: path.replace(/:[a-z]+/u, "nowhere"),
          headers: [["host", host], ["authorization", authorization], ...headers],
          body: "{",
        });
        const isAccepted = isAllowed && (isTrusted || form === "Bearer");
        // An accepted request fails because its body is not JSON.
        expected.push(`${method} ${path}, ${what}, ${form}: ${isAccepted ? 400 : 403}`);
        found.push(`${method} ${path}, ${what}, ${form}: ${status}`);
      }
    }
  }
  expect(found).toEqual(expected);
  expect(found).toHaveLength(unsafe.length * senders.length * 3);
});

test("in browsers, Basic credentials authorize safe methods from any allowed page", async () => {
  for (const { headers, isAllowed } of senders.filter((sender) => sender.isAllowed)) {
    const { status } = await sendRaw(server.url, {
      method: "GET",
      path: "/api/tags",
      headers: [["host", host], ["authorization", credentials.Basic], ...headers],
    });
    expect([isAllowed, status]).toEqual([true, 200]);
  }
});

test("a server without keys ignores all credentials", async () => {
  await using open = await startTestServer({ models: {}, script: () => [] });
  const { status } = await sendRaw(open.url, {
    method: "POST",
    path: "/api/show",
    headers: [
      ["host", host],
      ["authorization", credentials.Basic],
      ["origin", "http://localhost:3000"],
      json,
    ],
    body: "{",
  });
  expect(status).toBe(400);
});
