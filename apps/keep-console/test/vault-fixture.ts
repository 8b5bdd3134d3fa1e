import type { BrowserContextOptions, Page } from "playwright-core";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";

/** Tests of the secrets screen run at both. */
export const widths = [
  { name: "wide", viewport: { width: 1280, height: 800 } },
  { name: "narrow", viewport: { width: 390, height: 800 } },
] as const;

export type OpenedVault = { readonly page: Page; readonly vault: string };

/** One session for all tests of a file; each opens pages of its own. */
export type VaultFixture = AsyncDisposable & {
  readonly console: ConsoleFixture;
  /** Opens a page on a new vault with secrets, of which only the paths matter. */
  open(paths: readonly string[], contextOptions?: BrowserContextOptions): Promise<OpenedVault>;
  /** Sends a request below the vault's path. */
  request<Body>(
    opened: OpenedVault,
    path: string,
    options?: { readonly method?: string; readonly body?: unknown },
  ): Promise<Body>;
  /** Paths of the secrets in the vault, as the server lists them. */
  paths(opened: OpenedVault): Promise<readonly string[]>;
  closePages(): Promise<void>;
};

export async function startVaultFixture(): Promise<VaultFixture> {
  const console = await startConsoleFixture();
  const first = await console.signIn();
  const storageState = await first.context().storageState();
  await first.context().close();
  const pages = new Set<Page>();
  const request: VaultFixture["request"] = ({ page, vault }, path, options) =>
    console.request(page, `/api/secrets/vaults/${vault}${path}`, options);
  return {
    console,
    request,
    async open(paths, contextOptions = {}) {
      const page = await console.browser.openPage(`${console.url}/secrets`, {
        ...contextOptions,
        storageState,
      });
      pages.add(page);
      page.setDefaultTimeout(15_000);
      const body = { name: `Vault ${crypto.randomUUID().slice(0, 8)}` };
      const created = await console.request<{ id: string }>(page, "/api/secrets/vaults", {
        method: "POST",
        body,
      });
      const opened = { page, vault: created.id };
      const operations = paths.map((path) => ({ op: "put", path, value: `value of ${path}` }));
      if (operations.length > 0) await request(opened, "/batch", { method: "POST", body: { operations } });
      await page.goto(`${console.url}/secrets/${created.id}`);
      await page.getByRole("button", { name: "New secret" }).waitFor();
      return opened;
    },
    async paths(opened) {
      type Listed = { readonly items: readonly { readonly path: string }[] };
      const { items } = await request<Listed>(opened, "/secrets?recursive=true");
      return items.map(({ path }) => path);
    },
    async closePages() {
      for (const page of pages) await page.context().close();
      pages.clear();
    },
    [Symbol.asyncDispose]: () => console[Symbol.asyncDispose](),
  };
}

export async function chooseAction(page: Page, menu: string, item: string): Promise<void> {
  await page.getByRole("button", { name: menu, exact: true }).click();
  await page.getByRole("menuitem", { name: item }).click();
}
