/**
 * @module
 * The console as people meet it, for tests: the real Keep with its database, both identity providers and a browser, on
 * free ports of this machine. What a test needs in a vault it puts there through the API.
 * Imported by the console's tests and by `show`.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import {
  type BrowserOptions,
  type CodeHostingProvider,
  findFreePort,
  lendDatabase,
  startBrowser,
  startCodeHostingProvider,
  startGeneralIdentityProvider,
  startProcess,
  type TestBrowser,
} from "@hearth-and-keep/test-servers";
import type { BrowserContextOptions, Page } from "playwright-core";

export type ConsoleStage = AsyncDisposable & {
  readonly url: string;
  readonly browser: TestBrowser;
  /** What Keep has written to its log so far. */
  readonly log: () => string;
  /** Where `anotherPerson` is known; a test may make others known there. */
  readonly codeHosting: CodeHostingProvider;
  /** What no API does, done to this stage's own database: time that passed, a node that is behind, a row changed. */
  readonly runSql: (statement: string) => string;
  /** A new visitor who signs in in the browser, and is on the console's first screen. */
  signIn(person?: Person, visitor?: BrowserContextOptions): Promise<Page>;
  /** The API, called from the page with the session of whoever is signed in there. */
  ask<Body>(
    page: Page,
    path: string,
    wish?: { readonly method?: string; readonly body?: unknown },
  ): Promise<Body>;
};

export type Person = { readonly at: "code-hosting" | "general"; readonly account: string };

export const aPerson: Person = { at: "general", account: "first@example.com" };
export const anotherPerson: Person = { at: "code-hosting", account: "second" };

const program = fileURLToPath(new URL("../../keep/bin/keep.js", import.meta.url));
const client = { id: "console", secret: "console-secret" };
const empty = { name: "empty", prepare: () => Promise.resolve() };

export async function startConsoleStage(options: BrowserOptions = {}): Promise<ConsoleStage> {
  await using undo = new AsyncDisposableStack();
  const database = undo.use(await lendDatabase(empty));
  const url = `http://localhost:${await findFreePort()}`;
  const general = undo.use(await startGeneral(`${url}/auth/callback/general`));
  const codeHosting = undo.use(await startCodeHosting(`${url}/auth/callback/code-hosting`));
  const key = execFileSync(process.execPath, [program, "make-key"], { encoding: "utf8" }).trim();
  const keep = undo.use(
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
      environment: {
        KEEP_DATABASE_URL: database.url,
        KEEP_ENCRYPTION_KEY: key,
        KEEP_PUBLIC_URL: url,
        KEEP_GENERAL_NAME: "Example",
        KEEP_GENERAL_ISSUER: general.issuer,
        KEEP_GENERAL_CLIENT_ID: client.id,
        KEEP_GENERAL_CLIENT_SECRET: client.secret,
        KEEP_CODE_HOSTING_NAME: "Forge",
        KEEP_CODE_HOSTING_URL: codeHosting.origin,
        KEEP_CODE_HOSTING_API_URL: codeHosting.apiUrl,
        KEEP_CODE_HOSTING_CLIENT_ID: client.id,
        KEEP_CODE_HOSTING_CLIENT_SECRET: client.secret,
        KEEP_READS_PER_MINUTE: "1000000",
        KEEP_WRITES_PER_MINUTE: "1000000",
      },
      isReady: (output) => output.includes("Keep listens on"),
    }),
  );
  const browser = undo.use(await startBrowser(options));
  const owned = undo.move();
  return {
    url,
    browser,
    codeHosting,
    log: () => keep.output(),
    runSql: (statement) =>
      execFileSync("psql", ["-XAtq", "-v", "ON_ERROR_STOP=1", "-c", statement, database.url], {
        encoding: "utf8",
      }),
    signIn: async (person = aPerson, visitor = {}) =>
      enter(await browser.openPage(`${url}/sign-in`, visitor), person),
    ask: (page, path, wish = {}) => askFrom(page, path, wish),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function enter(page: Page, person: Person): Promise<Page> {
  const { origin } = new URL(page.url());
  // Whoever is not new: the first steps were offered to them before.
  await page.addInitScript("localStorage.setItem('first-steps', 'offered')");
  await passProvider(page, person);
  await page.waitForURL((at) => at.origin === origin && !at.pathname.startsWith("/auth"));
  return page;
}

/** From the press of the provider's button until the provider sends the browser back. */
export async function passProvider(page: Page, { at, account }: Person): Promise<void> {
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

type Asked = { readonly method?: string; readonly body?: unknown };

async function askFrom<Body>(page: Page, path: string, { method = "GET", body }: Asked): Promise<Body> {
  const answer = await page.evaluate(
    async ([to, how, what]) => {
      const response = await fetch(to, {
        method: how,
        headers: { "content-type": "application/json" },
        ...(what === "" ? {} : { body: what }),
      });
      return { isFine: response.ok, text: await response.text() };
    },
    [path, method, body === undefined ? "" : JSON.stringify(body)] as const,
  );
  if (!answer.isFine) throw new Error(`Cannot ${method} ${path}: ${answer.text}`);
  // What the contract says of this path.
  return (answer.text === "" ? undefined : JSON.parse(answer.text)) as Body;
}
