import { execFile, execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { recordFigure, scale } from "@hearth-and-keep/figures";
import {
  childEnvironment,
  findFreePort,
  makeTemporaryFolder,
  seededEnvironment,
  startBrowser,
  startPostgres,
  startProcess,
  type TestBrowser,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { packAndInstall } from "../ground/pack-and-install.ts";

type Page = Awaited<ReturnType<TestBrowser["openPage"]>>;

const maxSeconds = 60;
const value = "postgres://app:word@db/app";
const app = "console.log(process.env.DATABASE_URL);\n";

/** What a person does, and how long the machine works for it. */
function countSteps() {
  const steps = { count: 0, seconds: 0 };
  const take = async <Result>(action: () => Promise<Result>): Promise<Result> => {
    const startedAt = performance.now();
    const result = await action();
    steps.count += 1;
    steps.seconds += (performance.now() - startedAt) / 1000;
    return result;
  };
  return { steps, take };
}

type Setup = {
  readonly url: string;
  readonly folder: string;
  readonly browser: TestBrowser;
  readonly environment: Readonly<Record<string, string>>;
};

/** The installed program; in CI that of the clone, because other tests of CI install it. */
function programIn(folder: string): string {
  if (scale !== "ci") return packAndInstall("keep", folder).program;
  return fileURLToPath(new URL("../../apps/keep/bin/keep.js", import.meta.url));
}

function shell({ folder, environment }: Setup, line: string): Promise<{ readonly stdout: string }> {
  return promisify(execFile)("bash", ["-c", line], {
    cwd: folder,
    env: { ...environment, ...seededEnvironment },
  });
}

async function withKeep(setup: Setup) {
  const { steps, take } = countSteps();
  const page = await setup.browser.openPage("about:blank");
  const address = /http:\S+\/login\/authorize\S+/u;
  await using login = await take(() =>
    startProcess({
      command: "bash",
      arguments: ["-c", `exec keep login ${setup.url} --no-keyring`],
      environment: setup.environment,
      folder: setup.folder,
      isReady: (output) => address.test(output),
      stopsDescendants: true,
    }),
  );
  await page.goto(address.exec(login.output())?.[0] ?? "");
  await signIn(page, "Alice", take);
  await take(async () => {
    await page.getByRole("button", { name: "Approve" }).click();
    expect(await login.exited, login.output()).toBe(0);
  });
  await take(() => shell(setup, "keep init"));
  await take(() => shell(setup, `printf %s '${value}' | keep set DATABASE_URL`));
  const { stdout } = await take(() => shell(setup, "keep run -- node app.mjs"));
  return { stdout, steps };
}

async function signIn(page: Page, name: string, take: ReturnType<typeof countSteps>["take"]): Promise<void> {
  await take(() => page.getByRole("button", { name: /^Continue with/u }).click());
  await take(() => page.getByRole("button", { name }).click());
}

async function withCurl(setup: Setup) {
  const { steps, take } = countSteps();
  const page = await take(() => setup.browser.openPage(setup.url));
  await signIn(page, "Bob", take);
  await take(() => page.getByRole("link", { name: "Tokens" }).click());
  await take(() => page.getByRole("link", { name: "New token" }).click());
  await take(() => page.getByLabel("Name", { exact: true }).fill("first"));
  await take(() => page.getByRole("checkbox", { name: "Write secrets" }).check());
  await take(() => page.getByRole("button", { name: "Create token" }).click());
  const shown = await take(() => page.getByRole("dialog", { name: "Copy your token now" }).textContent());
  const token = /sk-svc-[0-9A-Za-z]{49}/u.exec(shown ?? "")?.[0] ?? "";
  const curl = `curl -sf -H "Authorization: Bearer ${token}"`;
  const vaults = `${setup.url}/api/secrets/vaults`;
  const { stdout: listed } = await take(() => shell(setup, `${curl} ${vaults} | cut -d '"' -f 4`));
  const vault = `${vaults}/${listed.trim()}`;
  await take(() =>
    shell(setup, `${curl} -X PUT ${vault}/secrets/by-path/DATABASE_URL -d '{"value": "${value}"}'`),
  );
  const read = `${curl} -H "Accept: application/octet-stream" ${vault}/values/by-path/DATABASE_URL`;
  const { stdout } = await take(() => shell(setup, `DATABASE_URL=$(${read}) node app.mjs`));
  return { stdout, steps };
}

test("from an empty folder, a login, and two commands, a program reads a secret within a minute", {
  timeout: 300_000,
}, async () => {
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await makeTemporaryFolder("first-secret"));
  const startedAt = performance.now();
  const program = programIn(folder);
  const installSeconds = (performance.now() - startedAt) / 1000;
  const postgres = stack.use(await startPostgres());
  const database = stack.use(await postgres.createDatabase());
  const port = String(await findFreePort());
  const bin = join(folder, "bin");
  execFileSync("mkdir", [bin]);
  execFileSync("ln", ["-s", program, join(bin, "keep")]);
  const inherited = childEnvironment();
  const path = [bin, dirname(process.execPath), inherited["PATH"]].join(":");
  const environment = { ...inherited, ...seededEnvironment, HOME: folder, PATH: path };
  const key = execFileSync("keep", ["generate-key"], { env: environment, encoding: "utf8" }).trim();
  stack.use(
    await startProcess({
      command: "keep",
      arguments: ["serve", "--dev", "--port", port, "--metrics-port", "0"],
      environment: { ...environment, KEEP_DATABASE_URL: database.url, KEEP_ENCRYPTION_KEY: key },
      isReady: (output) => output.includes("listening on"),
      folder,
    }),
  );
  await writeFile(join(folder, "app.mjs"), app);
  const browser = stack.use(await startBrowser());
  const setup = { url: `http://127.0.0.1:${port}`, folder, browser, environment };
  // Only a comparison, which CI leaves out.
  const curl = scale === "ci" ? undefined : await withCurl(setup);
  const keep = await withKeep(setup);
  expect([keep.stdout, curl?.stdout ?? keep.stdout]).toEqual([`${value}\n`, `${value}\n`]);
  expect(keep.steps.seconds).toBeLessThanOrEqual(maxSeconds);
  const describe = ({ count, seconds }: typeof keep.steps) => `${count} steps, ${seconds.toFixed(1)} s`;
  recordFigure({
    claim: "client 1",
    text: `${describe(keep.steps)} of at most ${maxSeconds}; ${curl === undefined ? "from the clone" : `with curl ${describe(curl.steps)}; packed and installed in ${installSeconds.toFixed(1)} s`}`,
  });
});
