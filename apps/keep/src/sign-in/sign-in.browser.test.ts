import { recordFigure } from "@hearth-and-keep/figures";
import { startBrowser, type TestBrowser, takeScreenshot } from "@hearth-and-keep/test-servers";
import type { Vault } from "@hearth-and-keep/vault-contract";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { routes } from "../routes.ts";
import { readAs } from "../test/fake-browser.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import { startTestKeep } from "../test/start-test-keep.ts";

let fixture: KeepWithProviders;
let browser: TestBrowser;
beforeAll(async () => {
  [fixture, browser] = await Promise.all([startKeepWithProviders(), startBrowser()]);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await fixture[Symbol.asyncDispose]();
});

type Steps = (page: Page) => Promise<void>;

const signInForms: Readonly<
  Record<"code-hosting" | "general", { readonly button: string; readonly steps: Steps }>
> = {
  "code-hosting": {
    button: "Continue with Code Host",
    steps: async (page) => {
      await page.getByLabel("Account").fill("first");
      await page.getByRole("button", { name: "Authorize" }).click();
    },
  },
  general: {
    button: "Continue with General Provider",
    steps: async (page) => {
      await page.getByLabel("Account").fill("first@example.com");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("button", { name: "Allow" }).click();
    },
  },
};

async function signInThroughPage(kind: keyof typeof signInForms): Promise<Page> {
  const page = await browser.openPage(`${fixture.keep.url}/sign-in?return_to=/sign-in`);
  await page.getByRole("button", { name: signInForms[kind].button }).click();
  await signInForms[kind].steps(page);
  await page.getByText("You are signed in as First Person").waitFor();
  expect(new URL(page.url()).pathname).toBe("/sign-in");
  return page;
}

type PageRequest = {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly key?: string;
};
type PageResponse = { readonly status: number; readonly text: string; readonly headers: string };

/** Uses the page's fetch, so the browser adds the session cookie and Fetch Metadata headers. */
function fetchFromPage(page: Page, request: PageRequest): Promise<PageResponse> {
  return page.evaluate(async ({ method, path, body, key }) => {
    const response = await fetch(path, {
      method,
      headers: {
        "content-type": "application/json",
        ...(key === undefined ? {} : { "idempotency-key": key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const headers = JSON.stringify([...response.headers]);
    return { status: response.status, text: await response.text(), headers };
  }, request);
}

/** Paths of all GET routes, filled with existing ids. */
function listGetPaths(ids: Readonly<Record<string, string>>): readonly string[] {
  return routes
    .filter(({ method }) => method === "GET")
    .map(({ path }) =>
      path
        .replaceAll(/:(\w+)/gu, (_whole, name: string) => ids[name] ?? "general")
        .replace("*", "folder/name"),
    );
}

test.each(["code-hosting", "general"] as const)(
  "a person signs in with %s in a browser and creates a token, and a program lists the vaults with it",
  async (kind) => {
    const page = await signInThroughPage(kind);
    const newToken = {
      name: "deploy",
      scopes: ["vaults:read", "secrets:read", "secrets:write", "tokens:read", "audit:read"],
    };
    const createToken = { method: "POST", path: "/api/secrets/tokens", body: newToken, key: `mint-${kind}` };
    const created = await fetchFromPage(page, createToken);
    expect([created.status, created.text]).toEqual([201, expect.stringContaining("sk-svc-")]);
    // The response schema of a created token.
    const { id, value } = JSON.parse(created.text) as { id: string; value: string };
    const vaults = await readVaults(value);
    const put = await fixture.keep.request(
      `/api/secrets/vaults/${vaults[0]?.id}/secrets/by-path/folder/name`,
      {
        method: "PUT",
        token: value,
        body: { value: "a value" },
      },
    );
    const secret = await readAs<{ id: string }>(put);
    const responses = [await fetchFromPage(page, createToken)];
    expect([responses[0]?.status, responses[0]?.text]).toEqual([409, expect.stringContaining(id)]);
    const paths = listGetPaths({
      vault: vaults[0]?.id ?? "",
      token: id,
      secret: secret.id,
      version: "1",
    });
    for (const path of paths) {
      // Callbacks are navigations and never fetched by a page.
      if (!path.startsWith("/auth/")) responses.push(await fetchFromPage(page, { method: "GET", path }));
      responses.push(await readResponse(await fixture.keep.request(path, { token: value })));
    }
    const rename = { method: "PATCH", path: `/api/secrets/tokens/${id}`, body: { name: "renamed" } };
    const revoke = { method: "DELETE", path: `/api/secrets/tokens/${id}` };
    responses.push(await fetchFromPage(page, rename), await fetchFromPage(page, revoke));
    const leaks = responses.filter(({ text, headers }) => (text + headers).includes(value));
    expect(leaks).toEqual([]);
    const succeeded = responses.filter(({ status }) => status === 200).length;
    expect(succeeded).toBeGreaterThan(paths.length);
    expect(fixture.keep.logLines.filter((line) => line.includes(value))).toEqual([]);
    recordFigure({
      claim: "keep 1",
      text: `${kind}: signed in with Chromium, the token's value in 0 of ${responses.length} later responses (${succeeded} with status 200) of ${paths.length} GET routes, replay included`,
      counted: { reached: responses.length - leaks.length, needed: responses.length },
    });
    await page.context().close();
  },
);

/** The request as in the specification: with a content type, but without a body. */
async function readVaults(token: string) {
  const response = await fixture.keep.request("/api/secrets/vaults", {
    token,
    headers: { "content-type": "application/json" },
  });
  const vaults = await readAs<readonly Vault[]>(response);
  expect([response.status, vaults]).toEqual([
    200,
    [
      {
        id: expect.stringMatching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
        name: "Personal",
        is_encrypted: true,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    ],
  ]);
  return vaults;
}

async function readResponse(response: Response): Promise<PageResponse> {
  const headers = JSON.stringify([...response.headers]);
  return { status: response.status, text: await response.text(), headers };
}

test("the sign-in pages fit a small screen in light and dark mode and load nothing from other origins", async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await browser.openPage("about:blank", {
      colorScheme,
      viewport: { width: 360, height: 640 },
    });
    const requestedUrls: string[] = [];
    const consoleMessages: string[] = [];
    page.on("request", (request) => requestedUrls.push(request.url()));
    page.on("console", (message) => consoleMessages.push(message.text()));
    await page.goto(`${fixture.keep.url}/sign-in`);
    expect(requestedUrls.filter((url) => !url.startsWith(fixture.keep.url))).toEqual([]);
    expect(consoleMessages).toEqual([]);
    const widths = await page.evaluate("[document.body.scrollWidth, window.innerWidth]");
    expect(widths).toEqual([360, 360]);
    await takeScreenshot(page, `keep-sign-in-${colorScheme}`);
    await page.goto(
      `${fixture.keep.url}/auth/callback/general?state=x&error_description=%3Cscript%3Ealert(1)%3C/script%3E`,
    );
    await page.getByRole("alert").waitFor();
    expect(await page.content()).not.toContain("alert(1)");
    await takeScreenshot(page, `keep-sign-in-refused-${colorScheme}`);
    await page.context().close();
  }
  const signedIn = await signInThroughPage("general");
  await signedIn.setViewportSize({ width: 360, height: 640 });
  await takeScreenshot(signedIn, "keep-signed-in");
  await signedIn.getByRole("button", { name: "Sign out" }).click();
  await signedIn.getByRole("heading", { name: "Sign in to Keep" }).waitFor();
  await signedIn.context().close();
});

test("with --dev a person signs in under a name, on pages that say so and fit a small screen", async () => {
  await using keep = await startTestKeep({ settings: { dev: "true" } });
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await browser.openPage(`${keep.url}/sign-in?return_to=/sign-in`, {
      colorScheme,
      viewport: { width: 360, height: 640 },
    });
    await takeScreenshot(page, `keep-development-start-${colorScheme}`);
    await page.getByRole("button", { name: "Continue with development sign-in" }).click();
    await page.getByRole("note").getByText("Do not store real secrets here").waitFor();
    expect(await page.evaluate("document.body.scrollWidth")).toBe(360);
    await takeScreenshot(page, `keep-development-names-${colorScheme}`);
    await page.getByLabel("Another name").fill("Dana");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("You are signed in as Dana").waitFor();
    await page.context().close();
  }
});

test("a page of another site can neither start a sign-in nor use a session", async () => {
  const page = await signInThroughPage("code-hosting");
  const attacks = [
    { action: "/auth/login/general", type: "application/x-www-form-urlencoded" },
    { action: "/auth/logout", type: "text/plain" },
    { action: "/api/secrets/tokens", type: "text/plain" },
  ];
  for (const { action, type } of attacks) {
    const attackerPage = await page.context().newPage();
    // Another port is cross-origin but same-site: the browser sends the cookies, so only Keep's own check protects.
    await attackerPage.goto(`${fixture.general.issuer}/.well-known/openid-configuration`);
    const succeeded = attackerPage.waitForResponse((response) => response.url().endsWith(action));
    const form = `<form method="post" action="${fixture.keep.url}${action}" enctype="${type}"><input name='{"name":"x","scopes":["vaults:read"],"x":"' value='"}'><button>Win</button></form>`;
    await attackerPage.setContent(form);
    await attackerPage.getByRole("button").click();
    expect([400, 401, 403]).toContain((await succeeded).status());
    await attackerPage.close();
  }
  const { status } = await fetchFromPage(page, { method: "GET", path: "/api/session" });
  expect(status).toBe(200);
  await page.context().close();
});
