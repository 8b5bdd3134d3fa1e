/**
 * @module
 * Every screen of the console and every state it can be in, each with the way there: what pictures are taken of, and
 * what is checked for people who do not see or do not use a mouse. A state that cannot be reached fails its test.
 * Imported by the test that goes over all screens, and by those that need a vault.
 */
import { press, type ScreenState } from "@hearth-and-keep/test-servers";
import type { BrowserContextOptions, Page } from "playwright-core";
import { anotherPerson, type ConsoleStage } from "../console-fixture.ts";

/** Who looks: somebody with full vaults, somebody who came a moment ago, or somebody who is not signed in. */
export type Looker = "owner" | "newcomer" | "visitor";

export type Scene = {
  readonly stage: ConsoleStage;
  readonly pages: Readonly<Record<Looker, Page>>;
  /** Full of secrets. */
  readonly vault: string;
  /** Whose log somebody changed. */
  readonly brokenVault: string;
};

export type ConsoleState = ScreenState<Scene> & { readonly looker?: Looker };

export const patience = 20_000;

export async function prepareScene(stage: ConsoleStage, visitor: BrowserContextOptions = {}): Promise<Scene> {
  const owner = await stage.signIn(undefined, visitor);
  const newcomer = await stage.signIn(anotherPerson, visitor);
  const pages = { owner, newcomer, visitor: await stage.browser.openPage(`${stage.url}/sign-in`, visitor) };
  for (const page of Object.values(pages)) page.setDefaultTimeout(patience);
  const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
  const elsewhere = await stage.signIn(undefined, { ...visitor, userAgent: firefox });
  await elsewhere.context().close();
  const vault = await makeVault(stage, owner, "Web shop");
  await fillVault(stage, owner, vault);
  await fillTokens(stage, owner, vault);
  const brokenVault = await makeVault(stage, owner, "Field office");
  await write({ stage, page: owner, vault: brokenVault }, "DOOR_CODE", { value: "4711" });
  stage.runSql(
    `UPDATE audit_event SET body = replace(body, '/DOOR_CODE', '/DOOR_LIE') WHERE chain_id = '${brokenVault}' AND seq = 2`,
  );
  await makeDeletedVault(stage, owner);
  return { stage, pages, vault, brokenVault };
}

export async function makeVault(stage: ConsoleStage, page: Page, name: string): Promise<string> {
  const made = await stage.ask<{ id: string }>(page, "/api/secrets/vaults", {
    method: "POST",
    body: { name },
  });
  return made.id;
}

type Shelf = { readonly stage: ConsoleStage; readonly page: Page; readonly vault: string };

export function write({ stage, page, vault }: Shelf, path: string, body: object): Promise<{ id: string }> {
  return stage.ask(page, `/api/secrets/vaults/${vault}/secrets/by-path/${path}`, { method: "PUT", body });
}

const longName = "A_NAME_THAT_GOES_ON_AND_ON_".repeat(9);

async function fillVault(stage: ConsoleStage, page: Page, vault: string): Promise<void> {
  const put = (path: string, body: object) => write({ stage, page, vault }, path, body);
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
  await stage.ask(page, `/api/secrets/vaults/${vault}/secrets/${old.id}`, { method: "DELETE" });
}

const inDays = (count: number): string => new Date(Date.now() + count * 86_400_000).toISOString();

async function fillTokens(stage: ConsoleStage, page: Page, vault: string): Promise<void> {
  const make = (body: object) =>
    stage.ask<{ id: string; value: string }>(page, "/api/secrets/tokens", { method: "POST", body });
  const shop = await make({
    name: "web shop, production",
    scopes: ["secrets:read"],
    vault_ids: [vault],
    paths: ["/prod/**", "/DATABASE_URL"],
    addresses: ["127.0.0.1", "::1"],
    expires_at: inDays(60),
  });
  await make({ name: "nightly backup", scopes: ["secrets:read", "audit:read"], expires_at: inDays(4) });
  await make({
    name: `deployment of ${"the very long project name ".repeat(8).trim()}`,
    scopes: ["secrets:write"],
  });
  const old = await make({ name: "old laptop", scopes: ["secrets:read"] });
  const headers = { authorization: `Bearer ${shop.value}` };
  await fetch(`${stage.url}/api/secrets/vaults/${vault}/values/by-path/DATABASE_URL`, { headers });
  await fetch(`${stage.url}/api/secrets/audit`, { headers });
  await stage.ask(page, `/api/secrets/tokens/${old.id}`, { method: "DELETE" });
}

async function makeDeletedVault(stage: ConsoleStage, page: Page): Promise<void> {
  const vault = await makeVault(stage, page, "Last year");
  await stage.ask(page, `/api/secrets/vaults/${vault}`, { method: "DELETE" });
}

/** Answers that do not come as long as somebody looks. */
export async function keepWaiting(page: Page, pattern: string): Promise<void> {
  await page.route(pattern, () => undefined);
}

export async function breakOff(page: Page, pattern: string): Promise<void> {
  await page.route(pattern, (route) => route.abort());
}

export async function chooseFrom(page: Page, menu: string, item: string): Promise<void> {
  await press(page.getByRole("button", { name: menu, exact: true }));
  await press(page.getByRole("menuitem", { name: item }));
}

export function makeSignInOld({ stage }: Scene): void {
  stage.runSql("UPDATE session SET authenticated_at = now() - interval '1 hour'");
}

export function makeSignInFresh({ stage }: Scene): void {
  stage.runSql("UPDATE session SET authenticated_at = now()");
}
