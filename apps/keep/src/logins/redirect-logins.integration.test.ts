import type { ApiToken } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { asSuperuser } from "../keys/test/tamper-fixtures.ts";
import { addTeammate, createTeam, join, type Teammate } from "../organisations/test/start-team.ts";
import { generateRandomToken, pkceChallenge } from "../sign-in/random-tokens.ts";
import { readAs } from "../test/fake-browser.ts";
import { startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";
import {
  approvedCode,
  decide,
  exchangeCode,
  exchangeDevice,
  newRedirectLogin,
  nextAddress,
  port,
  submit,
} from "./test/request-login.ts";

let keep: TestKeep;
let person: Teammate;

beforeAll(async () => {
  keep = await startUnlimitedKeep({ settings: { trustedProxies: "127.0.0.1" } });
  person = await addTeammate(keep);
});
afterAll(() => keep[Symbol.asyncDispose]());

const showPage = (query: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>>) =>
  keep.request(`/login/authorize?${new URLSearchParams(query).toString()}`, {
    headers: { "x-forwarded-for": nextAddress(), ...headers },
  });

const runSql = (text: string) =>
  asSuperuser(keep.databaseUrl, (superuser) => superuser.query<Record<string, unknown>>(text));

const describeToken = async (token: string) =>
  readAs<ApiToken>(await keep.request("/api/secrets/tokens/self", { token }));

test("an approved redirect gives a token of 30 days that reads and writes, and is recorded", async () => {
  const login = newRedirectLogin();
  const shown = await showPage(login.query, person.headers);
  const html = await shown.text();
  expect(shown.status).toBe(200);
  for (const text of ["laptop", "List, read and write secrets", person.accountId, "30 days"])
    expect(html).toContain(text);
  const policy = shown.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).toContain(`form-action 'self' http://127.0.0.1:${port};`);
  expect(policy).not.toContain("script-src");
  const decided = await decide(keep, person, login);
  const target = new URL(decided.headers.get("location") ?? "");
  expect(target.origin).toBe(`http://127.0.0.1:${port}`);
  expect(target.searchParams.get("state")).toBe(login.query.state);
  const code = target.searchParams.get("code") ?? "";
  const { status, body } = await exchangeCode(keep, code, login.verifier);
  expect([status, body.token_type, body.expires_in]).toEqual([200, "Bearer", 30 * 86_400]);
  expect(body.account).toMatchObject({ id: person.accountId, kind: "person" });
  const token = await describeToken(body.access_token);
  expect(token).toMatchObject({
    name: "Command line on laptop",
    created_by: expect.stringMatching(/^session:/u),
  });
  expect(token.scopes.toSorted()).toEqual(["secrets:list", "secrets:read", "secrets:write", "vaults:read"]);
  expect(Date.parse(token.expires_at ?? "") - Date.now()).toBeGreaterThan(29 * 86_400_000);
  const { body: audit } = await person.send<{ items: readonly { body: { name: string } }[] }>(
    "GET",
    "/api/secrets/audit?type=token-created",
  );
  const { body: approved } = await person.send<typeof audit>(
    "GET",
    "/api/secrets/audit?type=command-line-approved",
  );
  expect(approved.items[0]?.body).toMatchObject({ machine: "laptop" });
  expect(audit.items[0]?.body).toMatchObject({ name: "Command line on laptop" });
});

test("a login for reading gets a token that cannot write", async () => {
  const login = newRedirectLogin("read");
  const { body } = await exchangeCode(keep, await approvedCode(keep, person, login), login.verifier);
  expect(body.scope.split(" ").toSorted()).toEqual(["secrets:list", "secrets:read", "vaults:read"]);
  const path = `/api/secrets/vaults/${person.vaultId}/secrets/by-path/A`;
  const write = await keep.request(path, { method: "PUT", token: body.access_token, body: { value: "x" } });
  expect(write.status).toBe(403);
});

test("a code works once, also for requests at the same time, and not with another verifier", async () => {
  const login = newRedirectLogin();
  const code = await approvedCode(keep, person, login);
  const results = await Promise.all(
    Array.from({ length: 8 }, () => exchangeCode(keep, code, login.verifier)),
  );
  expect(results.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(results.filter(({ body }) => body.error === "invalid_grant")).toHaveLength(7);
  const intercepted = newRedirectLogin();
  const stolen = await approvedCode(keep, person, intercepted);
  const wrong = await exchangeCode(keep, stolen, generateRandomToken());
  expect([wrong.status, wrong.body.error]).toEqual([400, "invalid_grant"]);
  // A guess uses the code up, so that there is no second one.
  expect((await exchangeCode(keep, stolen, intercepted.verifier)).status).toBe(400);
  expect((await exchangeCode(keep, generateRandomToken(), login.verifier)).status).toBe(400);
});

test("the verifier must hash to the challenge; the challenge itself does not do", async () => {
  const login = newRedirectLogin();
  const code = await approvedCode(keep, person, login);
  expect((await exchangeCode(keep, code, login.query.code_challenge)).status).toBe(400);
  expect(pkceChallenge(login.verifier)).toBe(login.query.code_challenge);
});

test("the code of a redirect is not a device code", async () => {
  const login = newRedirectLogin();
  const code = await approvedCode(keep, person, login);
  expect((await exchangeDevice(keep, code)).body.error).toBe("invalid_grant");
});

test.each([
  { port: "80" },
  { port: "65536" },
  { port: "45678@evil.example" },
  { port: "45678/.evil.example" },
  { state: "short" },
  { code_challenge: "" },
  { machine: "<b>x</b>" },
  { machine: "x".repeat(65) },
  { permission: "admin" },
  { redirect_uri: "https://evil.example" },
])("the page and its form refuse %o", async (change) => {
  const { query } = newRedirectLogin();
  const changed = { ...query, ...change };
  expect((await showPage(query, person.headers)).status).toBe(200);
  expect((await showPage(changed, person.headers)).status).toBe(422);
  const form = { ...changed, decision: "approve", account: person.accountId, signed_in: person.accountId };
  const submitted = await submit(keep, ["/login/authorize", form], { headers: person.headers });
  expect(submitted.status).toBe(422);
});

test("only Keep's own page approves, in the session that it was shown to, after a recent sign-in", async () => {
  const { query } = newRedirectLogin();
  const foreign = { ...person.headers, "sec-fetch-site": "cross-site" };
  expect((await decide(keep, person, { query, headers: foreign })).status).toBe(403);
  const other = await addTeammate(keep);
  const inOtherSession = await decide(keep, person, { query, headers: other.headers });
  expect(inOtherSession.status).toBe(200);
  expect(await inOtherSession.text()).toContain(other.accountId);
  const stale = await addTeammate(keep, undefined, "20 minutes");
  const tooOld = await decide(keep, stale, { query });
  expect(tooOld.status).toBe(200);
  expect(await tooOld.text()).toContain("Sign in again to approve");
  const signedOut = await decide(keep, person, { query, headers: { "sec-fetch-site": "same-origin" } });
  expect(signedOut.headers.get("location")).toBe(
    `/sign-in?return_to=${encodeURIComponent(`/login/authorize?${new URLSearchParams(query).toString()}`)}`,
  );
  expect((await decide(keep, person, { query })).headers.get("location")).toContain("code=");
  const denied = new URL(
    (await decide(keep, person, { query, decision: "deny" })).headers.get("location") ?? "",
  );
  expect([...denied.searchParams.keys()].toSorted()).toEqual(["error", "state"]);
});

test("a code expires with the session that approved it, with the account, and after a minute", async () => {
  const leaver = await addTeammate(keep);
  const exchange = async (between: () => Promise<unknown>) => {
    const login = newRedirectLogin();
    const code = await approvedCode(keep, leaver, login);
    await between();
    return (await exchangeCode(keep, code, login.verifier)).status;
  };
  expect(await exchange(async () => undefined)).toBe(200);
  const expire = "UPDATE command_line_login SET expires_at = now() - interval '1 second'";
  expect(await exchange(() => runSql(expire))).toBe(400);
  const signOut = () => leaver.send("POST", "/auth/logout");
  expect(await exchange(signOut)).toBe(400);
});

test("a login that was added or changed in the database gives no token", async () => {
  const victim = await addTeammate(keep);
  const changes = [
    `person_id = '${victim.accountId}', account_id = '${victim.accountId}'`,
    "permission = 'write'",
    "machine = 'another'",
    "expires_at = expires_at + interval '1 second'",
    `code_challenge = '${pkceChallenge("x".repeat(43))}'`,
  ];
  for (const change of changes) {
    const login = newRedirectLogin("read");
    const code = await approvedCode(keep, person, login);
    await runSql(`UPDATE command_line_login SET ${change}`);
    const verifier = change.includes("challenge") ? "x".repeat(43) : login.verifier;
    expect([change, (await exchangeCode(keep, code, verifier)).status]).toEqual([change, 400]);
  }
  const { rows } = await runSql("SELECT count(*)::integer AS count FROM command_line_login");
  expect(rows).toEqual([{ count: 0 }]);
});

test("a member gets a token in the organisation, which ends with the membership; other people get none", async () => {
  const [owner, member, outsider] = [
    await addTeammate(keep),
    await addTeammate(keep),
    await addTeammate(keep),
  ];
  const team = await createTeam(owner, "Acme Tools");
  await join(owner, team, [member, "member"]);
  const account = team.split("/").at(-1) ?? "";
  const login = newRedirectLogin();
  expect(await (await showPage(login.query, member.headers)).text()).toContain("Acme Tools");
  expect(await (await showPage(login.query, outsider.headers)).text()).not.toContain("Acme Tools");
  expect((await decide(keep, outsider, { ...login, account })).status).toBe(404);
  const { body } = await exchangeCode(
    keep,
    await approvedCode(keep, member, { ...login, account }),
    login.verifier,
  );
  expect(body.account).toEqual({ id: account, name: "Acme Tools", kind: "organisation" });
  expect((await keep.request("/api/secrets/tokens/self", { token: body.access_token })).status).toBe(200);
  const before = newRedirectLogin();
  const code = await approvedCode(keep, member, { ...before, account });
  const second = newRedirectLogin();
  const ended = await exchangeCode(
    keep,
    await approvedCode(keep, member, { ...second, account }),
    second.verifier,
  );
  const revokeSelf = (token: string) => keep.request("/api/secrets/tokens/self", { method: "DELETE", token });
  // The member may do nothing that the token could.
  expect((await revokeSelf(ended.body.access_token)).status).toBe(204);
  expect((await revokeSelf(ended.body.access_token)).status).toBe(401);
  await owner.send("DELETE", `${team}/members/${member.accountId}`);
  expect((await exchangeCode(keep, code, before.verifier)).status).toBe(400);
  expect((await keep.request("/api/secrets/tokens/self", { token: body.access_token })).status).toBe(401);
});

test("a token revokes itself without any scope, a session does not", async () => {
  const token = await keep.addToken(person, { scopes: ["vaults:read"] });
  const revoke = (options: object) =>
    keep.request("/api/secrets/tokens/self", { method: "DELETE", ...options });
  expect((await revoke({ headers: person.headers })).status).toBe(404);
  expect((await revoke({ token: token.text })).status).toBe(204);
  expect((await revoke({ token: token.text })).status).toBe(401);
});
