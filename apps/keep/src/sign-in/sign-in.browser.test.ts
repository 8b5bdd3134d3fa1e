import { recordFigure } from "@hearth-and-keep/figures";
import { photograph, startBrowser, type TestBrowser } from "@hearth-and-keep/test-servers";
import type { Vault } from "@hearth-and-keep/vault-contract";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { routes } from "../routes.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import { readAs } from "../test/fake-browser.ts";

let world: KeepWithProviders;
let browser: TestBrowser;
beforeAll(async () => {
  [world, browser] = await Promise.all([startKeepWithProviders(), startBrowser()]);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

type Steps = (page: Page) => Promise<void>;

const ways: Readonly<Record<"code-hosting" | "general", { readonly button: string; readonly steps: Steps }>> =
  {
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

async function signInByHand(kind: keyof typeof ways): Promise<Page> {
  const page = await browser.openPage(`${world.keep.url}/sign-in?return_to=/sign-in`);
  await page.getByRole("button", { name: ways[kind].button }).click();
  await ways[kind].steps(page);
  await page.getByText("You are signed in as First Person").waitFor();
  expect(new URL(page.url()).pathname).toBe("/sign-in");
  return page;
}

type Sent = {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly key?: string;
};
type Heard = { readonly status: number; readonly text: string; readonly headers: string };

/** As a script of the page would: the browser adds the session and says where it comes from. */
function askFromPage(page: Page, sent: Sent): Promise<Heard> {
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
  }, sent);
}

/** Addresses of every GET row, with ids of things that are there. */
function everyAddress(ids: Readonly<Record<string, string>>): readonly string[] {
  return routes
    .filter(({ method }) => method === "GET")
    .map(({ path }) =>
      path
        .replaceAll(/:(\w+)/gu, (_whole, name: string) => ids[name] ?? "general")
        .replace("*", "folder/name"),
    );
}

test.each(["code-hosting", "general"] as const)(
  "a person signs in with %s in a browser, makes a token, and a program reads the vaults with it",
  async (kind) => {
    const page = await signInByHand(kind);
    const wish = {
      name: "deploy",
      scopes: ["vaults:read", "secrets:read", "secrets:write", "tokens:read", "audit:read"],
    };
    const mint = { method: "POST", path: "/api/secrets/tokens", body: wish, key: `mint-${kind}` };
    const minted = await askFromPage(page, mint);
    expect([minted.status, minted.text]).toEqual([201, expect.stringContaining("sk-svc-")]);
    // The answer's schema says so; what is not there makes the next lines fail.
    const { id, value } = JSON.parse(minted.text) as { id: string; value: string };
    const vaults = await readVaults(value);
    const put = await world.keep.ask(`/api/secrets/vaults/${vaults[0]?.id}/secrets/by-path/folder/name`, {
      method: "PUT",
      token: value,
      body: { value: "a value" },
    });
    const secret = await readAs<{ id: string }>(put);
    const heard = [await askFromPage(page, mint)];
    expect([heard[0]?.status, heard[0]?.text]).toEqual([409, expect.stringContaining(id)]);
    const addresses = everyAddress({
      vault: vaults[0]?.id ?? "",
      token: id,
      secret: secret.id,
      version: "1",
    });
    for (const path of addresses) {
      // A callback is only ever gone to, never asked for by a page.
      if (!path.startsWith("/auth/")) heard.push(await askFromPage(page, { method: "GET", path }));
      heard.push(await hear(await world.keep.ask(path, { token: value })));
    }
    const renamed = { method: "PATCH", path: `/api/secrets/tokens/${id}`, body: { name: "renamed" } };
    const ended = { method: "DELETE", path: `/api/secrets/tokens/${id}` };
    heard.push(await askFromPage(page, renamed), await askFromPage(page, ended));
    const leaks = heard.filter(({ text, headers }) => (text + headers).includes(value));
    expect(leaks).toEqual([]);
    const answered = heard.filter(({ status }) => status === 200).length;
    expect(answered).toBeGreaterThan(addresses.length);
    expect(world.keep.logLines.filter((line) => line.includes(value))).toEqual([]);
    recordFigure({
      claim: "keep 1",
      text: `${kind}: signed in with Chromium, the token's value in 0 of ${heard.length} later answers (${answered} with status 200) of ${addresses.length} GET routes, replay included`,
      counted: { reached: heard.length - leaks.length, needed: heard.length },
    });
    await page.context().close();
  },
);

/** The spec's request: its header of a content type, and no body. */
async function readVaults(token: string) {
  const response = await world.keep.ask("/api/secrets/vaults", {
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

async function hear(response: Response): Promise<Heard> {
  const headers = JSON.stringify([...response.headers]);
  return { status: response.status, text: await response.text(), headers };
}

test("the pages are readable on a small screen in light and dark, and load nothing from anywhere", async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await browser.openPage("about:blank", {
      colorScheme,
      viewport: { width: 360, height: 640 },
    });
    const foreign: string[] = [];
    const complaints: string[] = [];
    page.on("request", (request) => foreign.push(request.url()));
    page.on("console", (message) => complaints.push(message.text()));
    await page.goto(`${world.keep.url}/sign-in`);
    expect(foreign.filter((url) => !url.startsWith(world.keep.url))).toEqual([]);
    expect(complaints).toEqual([]);
    const widths = await page.evaluate("[document.body.scrollWidth, window.innerWidth]");
    expect(widths).toEqual([360, 360]);
    await photograph(page, `keep-sign-in-${colorScheme}`);
    await page.goto(
      `${world.keep.url}/auth/callback/general?state=x&error_description=%3Cscript%3Ealert(1)%3C/script%3E`,
    );
    await page.getByRole("alert").waitFor();
    expect(await page.content()).not.toContain("alert(1)");
    await photograph(page, `keep-sign-in-refused-${colorScheme}`);
    await page.context().close();
  }
  const signedIn = await signInByHand("general");
  await signedIn.setViewportSize({ width: 360, height: 640 });
  await photograph(signedIn, "keep-signed-in");
  await signedIn.getByRole("button", { name: "Sign out" }).click();
  await signedIn.getByRole("heading", { name: "Sign in to Keep" }).waitFor();
  await signedIn.context().close();
});

test("a page of another site can neither begin a sign-in nor use a session", async () => {
  const page = await signInByHand("code-hosting");
  const attacks = [
    { action: "/auth/login/general", type: "application/x-www-form-urlencoded" },
    { action: "/auth/logout", type: "text/plain" },
    { action: "/api/secrets/tokens", type: "text/plain" },
  ];
  for (const { action, type } of attacks) {
    const visitor = await page.context().newPage();
    // Another port is another origin of the same site: the browser sends the cookies, so only our own check is left.
    await visitor.goto(`${world.general.issuer}/.well-known/openid-configuration`);
    const answered = visitor.waitForResponse((response) => response.url().endsWith(action));
    const form = `<form method="post" action="${world.keep.url}${action}" enctype="${type}"><input name='{"name":"x","scopes":["vaults:read"],"x":"' value='"}'><button>Win</button></form>`;
    await visitor.setContent(form);
    await visitor.getByRole("button").click();
    expect([400, 401, 403]).toContain((await answered).status());
    await visitor.close();
  }
  const { status } = await askFromPage(page, { method: "GET", path: "/api/session" });
  expect(status).toBe(200);
  await page.context().close();
});
