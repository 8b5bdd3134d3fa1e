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
  "basic in small letters": `basic ${btoa(`somebody:${key}`)}`,
  Bearer: `Bearer ${key}`,
} as const;

type Sender = {
  readonly what: string;
  readonly headers: readonly (readonly [string, string])[];
  /** Whether something may be changed by a password that a browser adds of itself. */
  readonly isTrusted: boolean;
  /** Whether the site itself may call, with whatever credential. */
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
    what: "another page of this machine",
    headers: [json, ["origin", "http://localhost:3000"], ["sec-fetch-site", "same-site"]],
    isTrusted: false,
    isAllowed: true,
  },
  {
    what: "a desktop program's page",
    headers: [json, ["origin", "app://chat"]],
    isTrusted: false,
    isAllowed: true,
  },
  {
    what: "a browser that names no origin",
    headers: [json, ["sec-fetch-site", "same-origin"]],
    isTrusted: false,
    isAllowed: true,
  },
  {
    what: "a program on Node, whose fetch tells a mode",
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

const changing = routes.filter(({ method }) => method !== "GET" && method !== "HEAD");

test("a browser's Basic changes something only from a page of this very origin; a program's Basic and any Bearer do as before", async () => {
  const found: string[] = [];
  const wanted: string[] = [];
  for (const { method, path } of changing) {
    for (const { what, headers, isTrusted, isAllowed } of senders) {
      for (const [form, authorization] of Object.entries(credentials)) {
        const { status } = await sendRaw(server.url, {
          method,
          path: path.replace(/:[a-z]+/u, "nowhere"),
          headers: [["host", host], ["authorization", authorization], ...headers],
          body: "{",
        });
        const isAccepted = isAllowed && (isTrusted || form === "Bearer");
        // What is let through ends at a body that is no JSON.
        wanted.push(`${method} ${path}, ${what}, ${form}: ${isAccepted ? 400 : 403}`);
        found.push(`${method} ${path}, ${what}, ${form}: ${status}`);
      }
    }
  }
  expect(found).toEqual(wanted);
  expect(found).toHaveLength(changing.length * senders.length * 3);
});

test("what changes nothing is read with a browser's Basic from any page that may call", async () => {
  for (const { headers, isAllowed } of senders.filter((sender) => sender.isAllowed)) {
    const { status } = await sendRaw(server.url, {
      method: "GET",
      path: "/api/tags",
      headers: [["host", host], ["authorization", credentials.Basic], ...headers],
    });
    expect([isAllowed, status]).toEqual([true, 200]);
  }
});

test("on a server without keys no credential counts, so none is refused", async () => {
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
