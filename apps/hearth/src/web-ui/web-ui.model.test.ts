import { afterAll, beforeAll, expect, test } from "vitest";
import { accessKey } from "../access/keys.ts";
import { sendRaw } from "../access/test/raw-request.ts";
import { startTestServer, type TestServer } from "../test/start-test-server.ts";

let open: TestServer;
let locked: TestServer;
beforeAll(async () => {
  open = await startTestServer({ models: {}, script: () => [] });
  locked = await startTestServer({
    models: {},
    script: () => [],
    access: { keys: [accessKey("one", "right")] },
  });
});
afterAll(async () => {
  await open[Symbol.asyncDispose]();
  await locked[Symbol.asyncDispose]();
});

const browserHeaders = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

test("the page is compressed, is not cached, and has security headers", async () => {
  for (const path of ["/ui", "/ui/", "/ui/models", "/ui/live", "/ui/usage", "/ui/connect"]) {
    const response = await fetch(open.url + path, { headers: { "accept-encoding": "br" } });
    expect(response.status, path).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-cache");
    expect(response.headers.get("content-encoding")).toBe("br");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
    const policy = response.headers.get("content-security-policy") ?? "";
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "form-action 'none'",
    ])
      expect(policy.split("; ")).toContain(rule);
    expect(policy).not.toContain("unsafe");
    expect(await response.text()).toContain('<script type="module" src="/ui/main-');
  }
});

test("scripts and styles are cached forever, and unknown files are not found", async () => {
  const page = await (await fetch(`${open.url}/ui`)).text();
  const files = [...page.matchAll(/(?:src|href)="(?<path>\/ui\/[^"]+)"/gu)].map(
    ({ groups }) => groups?.["path"] ?? "",
  );
  expect(files).toHaveLength(2);
  for (const path of files) {
    const response = await fetch(open.url + path);
    expect(response.status, path).toBe(200);
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    await response.arrayBuffer();
  }
  for (const path of ["/ui/index.html", "/ui/nothing.js", "/ui/..%2fpackage.json", "/ui/models/more"])
    expect((await fetch(open.url + path)).status, path).toBe(404);
});

const navigations = [
  { what: "a browser", headers: { ...browserHeaders, "sec-fetch-mode": "navigate" }, isRedirected: true },
  { what: "an older browser", headers: browserHeaders, isRedirected: true },
  { what: "a page's script", headers: { ...browserHeaders, "sec-fetch-mode": "cors" }, isRedirected: false },
  { what: "curl", headers: { accept: "*/*" }, isRedirected: false },
  {
    what: "a client that accepts HTML last",
    headers: { accept: "application/json, text/html" },
    isRedirected: false,
  },
];

test.for(navigations)(
  "the root redirects $what to the web UI: $isRedirected",
  async ({ headers, isRedirected }) => {
    // Raw, because Node's fetch sends Sec-Fetch-Mode itself.
    const { status, head } = await sendRaw(open.url, {
      method: "GET",
      path: "/",
      headers: [["host", "localhost"], ...Object.entries(headers)],
    });
    expect(head).toMatch(/vary: origin, accept/u);
    expect([status, head.includes("location: /ui")]).toEqual(isRedirected ? [302, true] : [200, false]);
  },
);

test("clients that probe the root get the text they compare", async () => {
  expect(await (await fetch(`${open.url}/`)).text()).toBe("Ollama is running");
});

test("with a key set, browsers get a Basic challenge at the root and the web UI, and scripts do not", async () => {
  for (const path of ["/", "/ui", "/ui/models"]) {
    const challenge = await fetch(locked.url + path, { headers: browserHeaders });
    expect([path, challenge.status]).toEqual([path, 401]);
    expect(challenge.headers.get("www-authenticate")).toMatch(/^Basic realm="Hearth"/u);
    const script = await fetch(locked.url + path, { headers: { accept: "application/json" } });
    expect(script.headers.get("www-authenticate")).toBe("Bearer");
    const authorization = `Basic ${btoa("anybody:right")}`;
    const response = await fetch(locked.url + path, { headers: { ...browserHeaders, authorization } });
    expect([path, response.status]).toEqual([path, 200]);
  }
});
