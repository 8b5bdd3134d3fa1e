/**
 * @module
 * Headless Chromium (Debian's package, driven by playwright-core) for tests that use a page as users do.
 * Guarantees a fresh profile, no background traffic, and that the process and all files it writes are gone when the
 * scope ends. Screenshots are saved only when a folder is set.
 * Imported through the package's index by tests and claims.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { childEnvironment } from "../config.ts";
import { findProgram } from "../find-program.ts";
import { makeTemporaryFolder } from "../temporary-folder.ts";

export type BrowserOptions = {
  /** Additional Chromium flags. */
  readonly arguments?: readonly string[];
};

export type TestBrowser = AsyncDisposable & {
  readonly browser: Browser;
  /** Everything Chromium writes is below this folder. */
  readonly folder: string;
  /** Opens a page in a new context, without cookies; `page.context()` opens more pages in the same context. */
  openPage(url: string, contextOptions?: BrowserContextOptions): Promise<Page>;
};

export async function startBrowser(options: BrowserOptions = {}): Promise<TestBrowser> {
  const executablePath = await findProgram({
    knownPaths: ["/usr/bin/chromium"],
    names: ["chromium", "chromium-browser"],
    debianPackage: "chromium",
  });
  await using resources = new AsyncDisposableStack();
  const folder = resources.use(await makeTemporaryFolder("browser"));
  const { environment, artifactsDir } = await makeFolders(folder.path);
  // Loaded here, because it takes a second, and most tests start no browser.
  const { chromium } = await import("playwright-core");
  const context = await chromium.launchPersistentContext(join(folder.path, "profile"), {
    executablePath,
    artifactsDir,
    env: { ...childEnvironment(), ...environment },
    args: [...noTrafficFlags, ...rootFlags(), ...(options.arguments ?? [])],
  });
  resources.defer(() => context.close());
  const browser = context.browser();
  if (browser === null) throw new Error("Cannot start the browser: its context belongs to no browser");
  const owned = resources.move();
  return {
    browser,
    folder: folder.path,
    async openPage(url, contextOptions) {
      const page = await (await browser.newContext(contextOptions)).newPage();
      await page.goto(url);
      return page;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const noTrafficFlags = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Chromium's sandbox does not work for root, which containers usually run as. */
function rootFlags(): string[] {
  return process.getuid?.() === 0 ? ["--no-sandbox"] : [];
}

/** Chromium, its crash handler and its libraries write to all of these folders. */
async function makeFolders(
  folder: string,
): Promise<{ environment: Record<string, string>; artifactsDir: string }> {
  const environment = {
    HOME: join(folder, "home"),
    // Short, because Chromium creates a socket several folders below it, and socket paths have at most 107 bytes.
    TMPDIR: join(folder, "t"),
    XDG_CONFIG_HOME: join(folder, "configuration"),
    XDG_CACHE_HOME: join(folder, "cache"),
    XDG_RUNTIME_DIR: join(folder, "runtime"),
  };
  const artifactsDir = join(folder, "artifacts");
  for (const path of [...Object.values(environment), artifactsDir]) await mkdir(path, { mode: 0o700 });
  return { environment, artifactsDir };
}
