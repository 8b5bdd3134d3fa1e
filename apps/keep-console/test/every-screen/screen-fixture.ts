/**
 * @module
 * Every state of every screen, with the steps that reach it. The every-screen test takes screenshots of each state and
 * checks it with axe; a state that cannot be reached fails that test. This file prepares the data they show.
 * Imported by the every-screen test, and by tests that need a vault.
 */
import { press, type ScreenState } from "@hearth-and-keep/test-servers";
import type { BrowserContextOptions, Page } from "playwright-core";
import { type ConsoleFixture, secondAccount } from "../console-fixture.ts";
import { prepareTeamScene, type TeamScene } from "./team-scene.ts";

/** An account with data, a new account, nobody signed in, a member of an organisation, or an operator. */
export type Viewer = "owner" | "newcomer" | "visitor" | "member" | "operator";

export type ScreenFixture = {
  readonly keep: ConsoleFixture;
  readonly pages: Readonly<Record<Viewer, Page>>;
  /** Contains secrets and folders. */
  readonly vault: string;
  readonly teams: TeamScene;
};

export type ConsoleState = ScreenState<ScreenFixture> & { readonly viewer?: Viewer };

export const timeoutMilliseconds = 20_000;

export async function prepareScreenFixture(
  keep: ConsoleFixture,
  contextOptions: BrowserContextOptions = {},
): Promise<ScreenFixture> {
  const owner = await keep.signIn(undefined, contextOptions);
  const newcomer = await keep.signIn(secondAccount, contextOptions);
  const teams = await prepareTeamScene(keep, owner, contextOptions);
  const pages = {
    owner,
    newcomer,
    member: teams.member,
    operator: teams.operator,
    visitor: await keep.browser.openPage(`${keep.url}/sign-in`, contextOptions),
  };
  for (const page of Object.values(pages)) page.setDefaultTimeout(timeoutMilliseconds);
  const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
  const elsewhere = await keep.signIn(undefined, { ...contextOptions, userAgent: firefox });
  await elsewhere.context().close();
  const vault = await createVault(keep, owner, "Web shop");
  await fillVault(keep, owner, vault);
  await createTokens(keep, owner, vault);
  await createVault(keep, owner, "Field office");
  await createDeletedVault(keep, owner);
  return { keep, pages, vault, teams };
}

export async function createVault(keep: ConsoleFixture, page: Page, name: string): Promise<string> {
  const created = await keep.request<{ id: string }>(page, "/api/secrets/vaults", {
    method: "POST",
    body: { name },
  });
  return created.id;
}

type VaultTarget = { readonly keep: ConsoleFixture; readonly page: Page; readonly vault: string };

export function writeSecret(
  { keep, page, vault }: VaultTarget,
  path: string,
  body: object,
): Promise<{ id: string }> {
  return keep.request(page, `/api/secrets/vaults/${vault}/secrets/by-path/${path}`, { method: "PUT", body });
}

const longName = "A_NAME_THAT_GOES_ON_AND_ON_".repeat(9);

async function fillVault(keep: ConsoleFixture, page: Page, vault: string): Promise<void> {
  const put = (path: string, body: object) => writeSecret({ keep, page, vault }, path, body);
  const link = "postgres://shop:first@db.internal:5432/shop";
  await put("DATABASE_URL", {
    value: link,
    tags: ["prod", "database"],
    note: "Changed every quarter.\nAsk the platform team.",
  });
  await put("DATABASE_URL", { value: `${link}?sslmode=verify-full\n# moved in May` });
  await put("STRIPE_SECRET_KEY", { value: "not-a-real-key", tags: ["payments", "prod", "pci", "europe"] });
  await put(longName, {
    value: "long",
    tags: ["a-tag-that-goes-on-and-on-until-there-is-no-more-room-for-it"],
  });
  await put("settings.json", { value: '{"currency":"EUR"}', type: "json" });
  await put("tls.key", { value: "AAECAwQ=", encoding: "base64", type: "file" });
  await put("SHOP_URL", { value: "https://${/DATABASE_URL}/", tags: ["prod"] });
  for (const service of ["mail", "search", "stock", "login"])
    await put(`${service.toUpperCase()}_API_KEY`, { value: service, tags: ["prod"] });
  for (const folder of ["prod/api", "prod/worker", "staging"])
    await put(`${folder}/SESSION_KEY`, { value: folder });
  const old = await put("OLD_PASSWORD", { value: "gone" });
  await keep.request(page, `/api/secrets/vaults/${vault}/secrets/${old.id}`, { method: "DELETE" });
}

const inDays = (count: number): string => new Date(Date.now() + count * 86_400_000).toISOString();

async function createTokens(keep: ConsoleFixture, page: Page, vault: string): Promise<void> {
  const create = (body: object) =>
    keep.request<{ id: string; value: string }>(page, "/api/secrets/tokens", { method: "POST", body });
  const shop = await create({
    name: "web shop, production",
    scopes: ["secrets:read"],
    vault_ids: [vault],
    paths: ["/prod/**", "/DATABASE_URL"],
    addresses: ["127.0.0.1", "::1"],
    expires_at: inDays(60),
  });
  await create({ name: "nightly backup", scopes: ["secrets:read", "audit:read"], expires_at: inDays(4) });
  await create({
    name: `deployment of ${"the very long project name ".repeat(8).trim()}`,
    scopes: ["secrets:write"],
  });
  const old = await create({ name: "old laptop", scopes: ["secrets:read"] });
  const headers = { authorization: `Bearer ${shop.value}` };
  await fetch(`${keep.url}/api/secrets/vaults/${vault}/values/by-path/DATABASE_URL`, { headers });
  await fetch(`${keep.url}/api/secrets/audit`, { headers });
  await keep.request(page, `/api/secrets/tokens/${old.id}`, { method: "DELETE" });
}

async function createDeletedVault(keep: ConsoleFixture, page: Page): Promise<void> {
  const vault = await createVault(keep, page, "Last year");
  await keep.request(page, `/api/secrets/vaults/${vault}`, { method: "DELETE" });
}

/** Requests that match stay pending. */
export async function stallRequests(page: Page, pattern: string): Promise<void> {
  await page.route(pattern, () => undefined);
}

export async function abortRequests(page: Page, pattern: string): Promise<void> {
  await page.route(pattern, (route) => route.abort());
}

export type Replacement = { readonly from: string; readonly to: string };

/** Exports of audit logs reach the page with another text, as from a server that hides what was recorded. */
export function tamperExports(page: Page, replacement: Replacement): Promise<void> {
  return alterResponses(page, "**/audit/export", replacement);
}

/** As if the operator had not set the claim that lists groups. */
export function hideGroups(page: Page): Promise<void> {
  return alterResponses(page, "**/api/session", { from: ',"fills_teams":true', to: "" });
}

async function alterResponses(page: Page, pattern: string, { from, to }: Replacement): Promise<void> {
  await page.route(pattern, async (route) => {
    // The browser adds this header after the request was intercepted; Keep requires it.
    const headers = { ...route.request().headers(), "sec-fetch-site": "same-origin" };
    const response = await route.fetch({ headers });
    await route.fulfill({ response, body: (await response.text()).replace(from, to) });
  });
}

export async function chooseMenuItem(page: Page, menu: string, item: string): Promise<void> {
  await press(page.getByRole("button", { name: menu, exact: true }));
  await press(page.getByRole("menuitem", { name: item }));
}

export function expireSignIn({ keep }: ScreenFixture): void {
  keep.setSignInTime("now() - interval '1 hour'");
}

export function refreshSignIn({ keep }: ScreenFixture): void {
  keep.setSignInTime("now()");
}
