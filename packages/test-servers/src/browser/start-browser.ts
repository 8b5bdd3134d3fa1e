/**
 * @module
 * Headless Chromium (Debian's package, driven by playwright-core) for tests that look at a page as people do.
 * It promises a fresh profile, no traffic of its own, and that the process and everything it writes are gone
 * when the scope ends. Screens are saved only when somebody asks for them.
 * Imported through the package's index by tests and `show`.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { partEnvironment } from "../config.ts";
import { findProgram } from "../find-program.ts";
import { makeTemporaryFolder } from "../temporary-folder.ts";

export type BrowserOptions = {
  /** Further flags of Chromium. */
  readonly arguments?: readonly string[];
};

export type TestBrowser = AsyncDisposable & {
  readonly browser: Browser;
  /** Everything Chromium writes is below this folder. */
  readonly folder: string;
  /** Opens a page as a new visitor, with no cookies; pages of the same visitor come from `page.context()`. */
  openPage(url: string, visitor?: BrowserContextOptions): Promise<Page>;
};

export async function startBrowser(options: BrowserOptions = {}): Promise<TestBrowser> {
  const executablePath = await findProgram({
    knownPaths: ["/usr/bin/chromium"],
    names: ["chromium", "chromium-browser"],
    debianPackage: "chromium",
  });
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(await makeTemporaryFolder("browser"));
  const { environment, artifactsDir } = await makeFolders(folder.path);
  const context = await chromium.launchPersistentContext(join(folder.path, "profile"), {
    executablePath,
    artifactsDir,
    env: { ...partEnvironment(), ...environment },
    args: [...quietFlags, ...rootFlags(), ...(options.arguments ?? [])],
  });
  parts.defer(() => context.close());
  const browser = context.browser();
  if (browser === null) throw new Error("Cannot start the browser: its context belongs to no browser");
  const owned = parts.move();
  return {
    browser,
    folder: folder.path,
    async openPage(url, visitor) {
      const page = await (await browser.newContext(visitor)).newPage();
      await page.goto(url);
      return page;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const quietFlags = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Chromium's sandbox refuses to work for root, which is what containers run as. */
function rootFlags(): string[] {
  return process.getuid?.() === 0 ? ["--no-sandbox"] : [];
}

/** Chromium, its crash handler and its libraries write to all of these places. */
async function makeFolders(
  folder: string,
): Promise<{ environment: Record<string, string>; artifactsDir: string }> {
  const environment = {
    HOME: join(folder, "home"),
    // Short: Chromium puts a socket several folders below it, and a socket's path has at most 107 bytes.
    TMPDIR: join(folder, "t"),
    XDG_CONFIG_HOME: join(folder, "configuration"),
    XDG_CACHE_HOME: join(folder, "cache"),
    XDG_RUNTIME_DIR: join(folder, "runtime"),
  };
  const artifactsDir = join(folder, "artifacts");
  for (const path of [...Object.values(environment), artifactsDir]) await mkdir(path, { mode: 0o700 });
  return { environment, artifactsDir };
}
