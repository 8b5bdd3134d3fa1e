import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import {
  type CodeHostingProvider,
  findFreePort,
  type ModelRegistry,
  makeTemporaryFolder,
  type OwnedProcess,
  type Postgres,
  preparePython,
  seededEnvironment,
  startBrowser,
  startCodeHostingProvider,
  startModelRegistry,
  startPostgres,
  startProcess,
  stopProgramsOf,
  type TestBrowser,
  testModel,
} from "@hearth-and-keep/test-servers";
import { expect, onTestFinished, test } from "vitest";
import { seedRegistry } from "../../conformance/transfers/seed-registry.ts";
import { root } from "../run-to-end.ts";
import { environmentOfOlderNode } from "./older-node.ts";
import { hasExpectedLine, type QuickStartStep, quickStartPages, readQuickStart } from "./quick-start.ts";

type Page = Awaited<ReturnType<TestBrowser["openPage"]>>;

const minSteps = 35;

type Context = {
  readonly environment: Record<string, string>;
  /** Placeholders and defaults in the README, and their values in this test, e.g. the ports. */
  readonly replacements: ReadonlyMap<string, string>;
  folder: string;
};

type Servers = {
  readonly postgres: Postgres;
  readonly provider: CodeHostingProvider;
  readonly registry: ModelRegistry;
  readonly ports: { readonly hearth: string; readonly keep: string };
};

const isOurs = (name: string): boolean => /^(?:HEARTH|KEEP)_/u.test(name);

/** Runs one line as a user would type it; `cd`, `export` and `unset` persist, as in a terminal. */
function runCommand({ line, expected }: QuickStartStep & { kind: "command" }, context: Context): void {
  const script = `set -e\n${line}\nprintf '\\0%s\\0' "$PWD"\nenv -0`;
  const [output = "", folder = "", ...variables] = execFileSync("bash", ["-c", script], {
    cwd: context.folder,
    env: { ...context.environment, ...seededEnvironment },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 180_000,
  }).split("\0");
  context.folder = folder;
  for (const name of Object.keys(context.environment).filter(isOurs)) delete context.environment[name];
  for (const [name = "", ...value] of variables.map((variable) => variable.split("="))) {
    if (isOurs(name)) context.environment[name] = value.join("=");
  }
  for (const expectedLine of expected) {
    expect(hasExpectedLine(output, expectedLine), `${line} promises ${expectedLine}, printed ${output}`).toBe(
      true,
    );
  }
}

function startServer({ line }: QuickStartStep & { kind: "server" }, context: Context): Promise<OwnedProcess> {
  return startProcess({
    command: "bash",
    arguments: ["-c", `exec ${line}`],
    environment: context.environment,
    folder: context.folder,
    isReady: (output) => output.includes("listening on"),
    stopsDescendants: true,
  });
}

const token = "YOUR-TOKEN";

/** The browser steps of the README: sign in, create a token under Secrets, Tokens, and copy it. */
async function createToken(url: string): Promise<string> {
  await using browser = await startBrowser();
  const page = await openSignedOut(browser, url);
  await page.waitForURL((at) => at.pathname.startsWith("/welcome") || at.pathname.startsWith("/secrets"));
  await page.getByRole("link", { name: "Tokens" }).click();
  await page.getByRole("link", { name: "New token" }).click();
  await page.getByLabel("Name", { exact: true }).fill("first");
  await page.getByRole("checkbox", { name: "Write secrets" }).check();
  await page.getByRole("button", { name: "Create token" }).click();
  const shown = await page.getByRole("dialog", { name: "Copy your token now" }).textContent();
  return /sk-svc-[0-9A-Za-z]{49}/u.exec(shown ?? "")?.[0] ?? "";
}

/** Runs `keep login` and approves it, as the user does, on the page whose address it prints. */
async function logIn({ line }: QuickStartStep & { kind: "command" }, context: Context): Promise<void> {
  const address = /http:\S+\/login\/authorize\S+/u;
  await using login = await startProcess({
    command: "bash",
    arguments: ["-c", `exec ${line}`],
    environment: context.environment,
    folder: context.folder,
    isReady: (output) => address.test(output),
    stopsDescendants: true,
  });
  await using browser = await startBrowser();
  const page = await openSignedOut(browser, address.exec(login.output())?.[0] ?? "");
  await page.getByRole("button", { name: "Approve" }).click();
  expect(await login.exited, login.output()).toBe(0);
}

async function openSignedOut(browser: TestBrowser, url: string): Promise<Page> {
  const page = await browser.openPage(url);
  await page.getByRole("button", { name: /GitHub/u }).click();
  await page.getByLabel("Account").fill("reader");
  await page.getByRole("button", { name: "Authorize" }).click();
  return page;
}

/** A provider with one account and the application that the README has the user register. */
function startProvider(keepPort: string) {
  const callbackUrl = `http://localhost:${keepPort}/auth/callback/code-hosting`;
  return startCodeHostingProvider({
    accounts: [
      {
        id: 1,
        login: "reader",
        name: null,
        emails: [{ email: "reader@example.com", primary: true, verified: true, visibility: null }],
      },
    ],
    applications: [{ clientId: "quick-start", clientSecret: "quick-start-secret", callbackUrl }],
  });
}

/** A machine with Node 20, Python with a virtual environment, PostgreSQL and a model file. */
async function prepareContext(
  folder: string,
  { postgres, provider, registry, ports }: Servers,
): Promise<Context> {
  const model = await testModel("smollm2-135m-instruct-q4_1.gguf");
  await seedRegistry(registry, { repository: "team/smol", file: model });
  const { interpreter } = await preparePython();
  const { PATH = "", ...environment } = definedOnly(environmentOfOlderNode(folder));
  return {
    folder,
    environment: {
      ...environment,
      // User data goes into the folder, except npm's cache and configuration.
      HOME: folder,
      npm_config_cache: environment["npm_config_cache"] ?? join(homedir(), ".npm"),
      npm_config_userconfig: join(homedir(), ".npmrc"),
      // Node 20 stays first.
      PATH: PATH.replace(delimiter, `${delimiter}${dirname(interpreter)}${delimiter}`),
      HEARTH_PORT: ports.hearth,
      HEARTH_MODELS: join(folder, "models"),
      HEARTH_THREADS: "1",
      // The test registry is on loopback; a user's registry is public.
      HEARTH_PRIVATE_REGISTRIES: "127.0.0.1",
      KEEP_PORT: ports.keep,
      KEEP_METRICS_PORT: "0",
      // The test provider; the default is GitHub.
      KEEP_CODE_HOSTING_URL: provider.origin,
      KEEP_CODE_HOSTING_API_URL: provider.apiUrl,
    },
    replacements: new Map([
      ["ADDRESS-OF-THIS-REPOSITORY", root],
      ["YOUR-MODEL.gguf", model],
      ["YOUR-REGISTRY-MODEL", `${new URL(registry.url).host}/team/smol --insecure`],
      ["11434", ports.hearth],
      ["8300", ports.keep],
      ["5432", String(postgres.port)],
      ["YOUR-PASSWORD", postgres.address.password],
      ["YOUR-CLIENT-ID", "quick-start"],
      ["YOUR-CLIENT-SECRET", "quick-start-secret"],
    ]),
  };
}

test("the README and both quick starts work line by line from an empty folder, on a machine with Node 20", {
  timeout: 400_000,
}, async () => {
  const servers = new AsyncDisposableStack();
  // Also runs after a timeout, when this function never returns.
  onTestFinished(() => servers.disposeAsync());
  const folder = servers.use(await makeTemporaryFolder("quick-start"));
  servers.defer(() => stopProgramsOf(folder.path));
  const postgres = servers.use(await startPostgres());
  const ports = { hearth: String(await findFreePort()), keep: String(await findFreePort()) };
  const provider = servers.use(await startProvider(ports.keep));
  const registry = servers.use(await startModelRegistry());
  const context = await prepareContext(folder.path, { postgres, provider, registry, ports });
  const steps = quickStartPages.flatMap((page) =>
    readQuickStart(adapt(readFileSync(join(root, page), "utf8"), context)),
  );
  expect(steps.length).toBeGreaterThanOrEqual(minSteps);
  for (const step of steps) {
    if (step.kind === "server") servers.use(await startServer(step, context));
    else if (step.kind === "file") writeFileSync(join(context.folder, step.name), step.content);
    else if (/ keep login\b/u.test(step.line)) await logIn(step, context);
    else if (!step.line.includes(token)) runCommand(step, context);
    else {
      const created = await createToken(`http://localhost:${ports.keep}`);
      runCommand({ ...step, line: step.line.replace(token, created) }, context);
    }
  }
  for (const claim of ["ground 7", "families 16", "keep 19", "people 10"]) {
    recordFigure({
      claim,
      text: `${steps.length} of ${steps.length} lines and programs of the quick start worked`,
      counted: { reached: steps.length, needed: minSteps },
    });
  }
});

function adapt(readme: string, { replacements }: Context): string {
  let adapted = readme;
  for (const [written, actual] of replacements) adapted = adapted.replaceAll(written, actual);
  return adapted;
}

function definedOnly(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
