import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish, openMachine, printed } from "../client/test/machine.ts";
import { submit } from "../logins/test/request-login.ts";
import { addTeammate, createTeam, type Teammate } from "../organisations/test/start-team.ts";
import { startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";

let keep: TestKeep;
let person: Teammate;

beforeAll(async () => {
  keep = await startUnlimitedKeep({ settings: { trustedProxies: "127.0.0.1" } });
  person = await addTeammate(keep);
});
afterAll(() => keep[Symbol.asyncDispose]());

const storedToken = /sk-svc-[0-9A-Za-z]{49}/u;

test("a person logs in, sees who they are, and logs out, which revokes the token", async () => {
  await using machine = await openMachine(keep);
  const login = await machine.logIn(person);
  expect(login.code, login.stderr).toBe(0);
  expect(login.stdout).toContain(`Logged in to ${keep.url} as ${person.accountId}`.slice(0, 20));
  expect(login.stdout).toContain("file that only you can read");
  const file = join(machine.home, ".config/keep/logins.json");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(machine.home, ".config/keep"))).mode & 0o777).toBe(0o700);
  const token = storedToken.exec(await readFile(file, "utf8"))?.[0] ?? "";
  expect(login.stdout + login.stderr).not.toMatch(storedToken);
  const shown = await machine.keep(["whoami", "--json"]);
  expect(JSON.parse(shown.stdout)).toMatchObject({
    server: keep.url,
    account: { id: person.accountId, kind: "person" },
    token: { name: expect.stringMatching(/^Command line on /u) },
  });
  expect((await machine.keep(["logout"])).code).toBe(0);
  expect((await keep.request("/api/secrets/tokens/self", { token })).status).toBe(401);
  expect(await readFile(file, "utf8")).not.toMatch(storedToken);
  const after = await machine.keep(["whoami", "--server", keep.url]);
  expect([after.code, after.stderr]).toEqual([
    4,
    expect.stringContaining(`Next: run "keep login ${keep.url}"`),
  ]);
});

test("a second login replaces the first and revokes its token", async () => {
  await using machine = await openMachine(keep);
  await machine.logIn(person);
  const file = join(machine.home, ".config/keep/logins.json");
  const first = storedToken.exec(await readFile(file, "utf8"))?.[0] ?? "";
  expect((await machine.logIn(person, { args: ["--read-only"] })).code).toBe(0);
  const stored = JSON.parse(await readFile(file, "utf8"));
  expect(stored.logins).toHaveLength(1);
  expect((await keep.request("/api/secrets/tokens/self", { token: first })).status).toBe(401);
  expect((await machine.keep(["whoami"])).stdout).not.toContain("secrets:write");
});

test("a denied login stores nothing", async () => {
  await using machine = await openMachine(keep);
  const denied = await machine.logIn(person, { decision: "deny" });
  expect([denied.code, denied.stderr]).toEqual([4, expect.stringContaining("The login was denied")]);
  expect((await machine.keep(["whoami"])).stderr).toContain("No server is set");
});

test("the port of a login ignores requests without its state, and listens on this machine only", async () => {
  await using machine = await openMachine(keep);
  const child = machine.start(["login", keep.url, "--no-browser", "--no-keyring"]);
  const finished = finish(child);
  const page = new URL(await printed(child, /http\S+\/login\/authorize\?\S+/u));
  const target = `http://127.0.0.1:${page.searchParams.get("port")}`;
  const injected = await fetch(`${target}/?code=${"x".repeat(43)}&state=${"y".repeat(43)}`);
  expect(injected.status).toBe(404);
  expect((await fetch(`${target}/?error=access_denied`)).status).toBe(404);
  const state = page.searchParams.get("state") ?? "";
  expect((await fetch(`${target}/?state=${state}`, { method: "POST" })).status).toBe(404);
  // Still waiting: only the person's own decision ends it.
  expect(child.exitCode).toBeNull();
  const answered = await fetch(`${target}/?code=${"x".repeat(43)}&state=${state}`);
  expect(answered.headers.get("content-security-policy")).toContain("default-src 'none'");
  const { code, stderr } = await finished;
  expect([code, stderr]).toEqual([4, expect.stringContaining("wrong, used or expired")]);
});

test("a machine without a browser logs in with a code", { timeout: 60_000 }, async () => {
  await using machine = await openMachine(keep);
  const child = machine.start(["login", keep.url, "--device", "--no-keyring"]);
  const finished = finish(child);
  const user_code = await printed(child, /([A-Z]{4}-[A-Z]{4})/u);
  const fields = { user_code, decision: "approve", account: person.accountId, signed_in: person.accountId };
  expect((await submit(keep, ["/login/device", fields], { headers: person.headers })).status).toBe(200);
  expect((await finished).code).toBe(0);
  expect((await machine.keep(["whoami"])).code).toBe(0);
});

test("a token is not sent to a server that only a file of the project names", async () => {
  await using machine = await openMachine(keep);
  await machine.logIn(person);
  await using other = await startUnlimitedKeep();
  const requests = () => other.logLines.filter((line) => line.includes("/api/")).length;
  await writeFile(join(machine.project, ".keep.toml"), `server = "${other.url}"\n`);
  const redirected = await machine.keep(["whoami"]);
  expect([redirected.code, redirected.stderr]).toEqual([4, expect.stringContaining("Not logged in to")]);
  const environment = { KEEP_TOKEN: "sk-svc-x" };
  const inCi = await machine.keep(["whoami"], { environment });
  expect([inCi.code, inCi.stderr]).toEqual([4, expect.stringContaining("is not sent to it")]);
  expect(requests()).toBe(0);
  const named = await machine.keep(["whoami"], { environment: { ...environment, KEEP_SERVER: other.url } });
  expect([named.code, named.stderr]).toEqual([4, expect.stringContaining("expired or was revoked")]);
  expect(requests()).toBe(1);
});

test("logins that other users can read are not used", async () => {
  await using machine = await openMachine(keep);
  await machine.logIn(person);
  const file = join(machine.home, ".config/keep/logins.json");
  expect((await machine.keep(["whoami"])).code).toBe(0);
  await chmod(file, 0o644);
  const { code, stderr } = await machine.keep(["whoami"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`chmod 600 ${file}`)]);
});

test("keep init writes the vault of a project, also of an organisation, and replaces nothing unasked", async () => {
  await using machine = await openMachine(keep);
  await machine.logIn(person);
  const file = join(machine.project, ".keep.toml");
  expect((await machine.keep(["init", "--folder", "/app"])).code).toBe(0);
  const text = await readFile(file, "utf8");
  for (const line of [`server = "${keep.url}"`, `vault = "${person.vaultId}"`, 'folder = "/app"'])
    expect(text).toContain(line);
  expect((await machine.keep(["init"])).code).toBe(2);
  const team = await createTeam(person, "Acme");
  const { body } = await person.send<{ id: string }>("POST", `${team}/vaults`, { name: "Shared" });
  const account = team.split("/").at(-1) ?? "";
  expect((await machine.logIn(person, { account })).stdout).toContain("in Acme");
  expect((await machine.keep(["init", "--force", "--vault", "Shared"])).code).toBe(0);
  const shared = await readFile(file, "utf8");
  expect(shared).toContain(`organisation = "${account}"`);
  expect(shared).toContain(`vault = "${body.id}"`);
  expect((await machine.keep(["list"])).stdout).toContain("No secrets in /");
  expect((await machine.keep(["init", "--force", "--vault", "None"])).code).toBe(2);
});
