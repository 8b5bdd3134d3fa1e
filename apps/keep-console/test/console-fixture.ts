/**
 * @module
 * Test fixture of the console: a real Keep with its own database, both identity providers and a browser, on free ports.
 * Tests create the data they need through the API.
 * Imported by the console's tests.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import {
  acquireDatabase,
  type BrowserOptions,
  type CodeHostingProvider,
  findFreePort,
  startBrowser,
  startCodeHostingProvider,
  startGeneralIdentityProvider,
  startProcess,
  type TestBrowser,
} from "@hearth-and-keep/test-servers";
import type { BrowserContextOptions, Page } from "playwright-core";

export type ConsoleFixture = AsyncDisposable & {
  readonly url: string;
  readonly browser: TestBrowser;
  /** Keep's log output so far. */
  readonly log: () => string;
  /** Knows `secondAccount`; a test may add accounts. */
  readonly codeHosting: CodeHostingProvider;
  /** Runs SQL on the fixture's database, for what no API does: a lagging node, a tampered row. */
  readonly runSql: (statement: string) => string;
  /** Changes when everybody signed in, to an expression in SQL. Keep rejects sessions that only SQL has changed. */
  readonly setSignInTime: (time: string) => void;
  /** Signs in with a new browser context and returns its page on the first screen. */
  signIn(account?: TestAccount, contextOptions?: BrowserContextOptions): Promise<Page>;
  /** Sends an API request from the page, with its session. */
  request<Body>(
    page: Page,
    path: string,
    options?: { readonly method?: string; readonly body?: unknown },
  ): Promise<Body>;
};

export type TestAccount = { readonly at: "code-hosting" | "general"; readonly account: string };

export const firstAccount: TestAccount = { at: "general", account: "first@example.com" };
export const secondAccount: TestAccount = { at: "code-hosting", account: "second" };

export type FixtureOptions = BrowserOptions & {
  /** Whether groups of the general provider fill teams; true by default. */
  readonly fillsTeams?: boolean;
};

const program = fileURLToPath(new URL("../../keep/bin/keep.js", import.meta.url));
const sessionProgram = fileURLToPath(
  new URL("../../keep/src/test/change-sessions-process.ts", import.meta.url),
);
const client = { id: "console", secret: "console-secret" };
const empty = { name: "empty", prepare: () => Promise.resolve() };

export async function startConsoleFixture({
  fillsTeams = true,
  ...options
}: FixtureOptions = {}): Promise<ConsoleFixture> {
  await using cleanup = new AsyncDisposableStack();
  const database = cleanup.use(await acquireDatabase(empty));
  const url = `http://localhost:${await findFreePort()}`;
  const general = cleanup.use(await startGeneral(`${url}/auth/callback/general`));
  const codeHosting = cleanup.use(await startCodeHosting(`${url}/auth/callback/code-hosting`));
  const key = execFileSync(process.execPath, [program, "generate-key"], { encoding: "utf8" }).trim();
  const settings = settingsOf({ url, general, codeHosting, fillsTeams });
  const keep = cleanup.use(
    await startProcess({
      command: process.execPath,
      arguments: [
        program,
        "serve",
        "--host",
        "localhost",
        "--port",
        new URL(url).port,
        "--metrics-port",
        "0",
      ],
      environment: { KEEP_DATABASE_URL: database.url, KEEP_ENCRYPTION_KEY: key, ...settings },
      isReady: (output) => output.includes("Keep is listening on"),
    }),
  );
  const browser = cleanup.use(await startBrowser(options));
  const owned = cleanup.move();
  return {
    url,
    browser,
    codeHosting,
    log: () => keep.output(),
    runSql: (statement) =>
      execFileSync("psql", ["-XAtq", "-v", "ON_ERROR_STOP=1", "-c", statement, database.url], {
        encoding: "utf8",
      }),
    setSignInTime: (time) =>
      void execFileSync(process.execPath, [sessionProgram, database.url, key, `authenticated_at = ${time}`]),
    signIn: async (account = firstAccount, contextOptions = {}) =>
      signInOn(await browser.openPage(`${url}/sign-in`, contextOptions), account),
    request: (page, path, requestOptions = {}) => requestFrom(page, path, requestOptions),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

type KeepSettings = {
  readonly url: string;
  readonly general: { readonly issuer: string };
  readonly codeHosting: { readonly origin: string; readonly apiUrl: string };
  readonly fillsTeams: boolean;
};

function settingsOf({ url, general, codeHosting, fillsTeams }: KeepSettings): Record<string, string> {
  return {
    KEEP_PUBLIC_URL: url,
    KEEP_GENERAL_NAME: "Example",
    KEEP_GENERAL_ISSUER: general.issuer,
    KEEP_GENERAL_CLIENT_ID: client.id,
    KEEP_GENERAL_CLIENT_SECRET: client.secret,
    ...(fillsTeams ? { KEEP_GROUPS_CLAIM: "groups" } : {}),
    KEEP_CODE_HOSTING_NAME: "Forge",
    KEEP_CODE_HOSTING_URL: codeHosting.origin,
    KEEP_CODE_HOSTING_API_URL: codeHosting.apiUrl,
    KEEP_CODE_HOSTING_CLIENT_ID: client.id,
    KEEP_CODE_HOSTING_CLIENT_SECRET: client.secret,
    KEEP_READS_PER_MINUTE: "1000000",
    KEEP_WRITES_PER_MINUTE: "1000000",
    KEEP_AUDIT_CHECKPOINT_SECONDS: "5",
  };
}

async function signInOn(page: Page, account: TestAccount): Promise<Page> {
  const { origin } = new URL(page.url());
  // Marks the first steps as already offered.
  await page.addInitScript("localStorage.setItem('first-steps', 'offered')");
  await signInAtProvider(page, account);
  await page.waitForURL((at) => at.origin === origin && !at.pathname.startsWith("/auth"));
  return page;
}

/** Chooses the provider on the sign-in page and signs in there. */
export async function signInAtProvider(page: Page, { at, account }: TestAccount): Promise<void> {
  await page.getByRole("button", { name: at === "general" ? /Example/u : /Forge/u }).click();
  await page.getByLabel("Account").fill(account);
  if (at === "code-hosting") {
    await page.getByRole("button", { name: "Authorize" }).click();
    return;
  }
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Allow" }).click();
}

function startGeneral(redirectUri: string) {
  return startGeneralIdentityProvider({
    accounts: [
      { subject: "101", email: "first@example.com", isEmailVerified: true },
      { subject: "102", email: "third@example.com", isEmailVerified: true },
      { subject: "103", email: "fourth@example.com", isEmailVerified: true, groups: ["engineers"] },
    ],
    clients: [{ ...client, redirectUris: [redirectUri] }],
  });
}

function startCodeHosting(callbackUrl: string) {
  return startCodeHostingProvider({
    accounts: [
      {
        id: 4001,
        login: "second",
        name: "Second",
        emails: [{ email: "second@example.com", primary: true, verified: true, visibility: null }],
      },
    ],
    applications: [{ clientId: client.id, clientSecret: client.secret, callbackUrl }],
  });
}

type RequestOptions = { readonly method?: string; readonly body?: unknown };

async function requestFrom<Body>(
  page: Page,
  path: string,
  { method = "GET", body }: RequestOptions,
): Promise<Body> {
  const response = await page.evaluate(
    async ([url, verb, content]) => {
      const reply = await fetch(url, {
        method: verb,
        headers: { "content-type": "application/json" },
        ...(content === "" ? {} : { body: content }),
      });
      return { isOk: reply.ok, text: await reply.text() };
    },
    [path, method, body === undefined ? "" : JSON.stringify(body)] as const,
  );
  if (!response.isOk) throw new Error(`${method} ${path} failed: ${response.text}`);
  // The caller names the response type of this path.
  return (response.text === "" ? undefined : JSON.parse(response.text)) as Body;
}
