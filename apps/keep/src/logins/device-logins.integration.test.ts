import { afterAll, beforeAll, expect, test } from "vitest";
import { asSuperuser } from "../keys/test/tamper-fixtures.ts";
import { addTeammate, type Teammate } from "../organisations/test/start-team.ts";
import { generateRandomToken } from "../sign-in/random-tokens.ts";
import { startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";
import { exchangeCode, exchangeDevice, nextAddress, startDevice, submit } from "./test/request-login.ts";

let keep: TestKeep;
let person: Teammate;

beforeAll(async () => {
  keep = await startUnlimitedKeep({ settings: { trustedProxies: "127.0.0.1" } });
  person = await addTeammate(keep);
});
afterAll(() => keep[Symbol.asyncDispose]());

const runSql = (text: string) => asSuperuser(keep.databaseUrl, (superuser) => superuser.query(text));
/** As if the interval had passed. */
const wait = () => runSql("UPDATE command_line_login SET polled_at = now() - interval '5 seconds'");

type Typing = {
  readonly decision?: "approve" | "deny";
  readonly by?: Teammate;
  readonly headers?: Readonly<Record<string, string>>;
  readonly address?: string;
};

function enter(userCode: string, { decision = "approve", by = person, headers, address }: Typing = {}) {
  const fields = { user_code: userCode, decision, account: by.accountId, signed_in: by.accountId };
  const options = { headers: headers ?? by.headers, ...(address === undefined ? {} : { address }) };
  return submit(keep, ["/login/device", fields], options);
}

const showPage = (userCode: string, address = nextAddress()) =>
  keep.request(`/login/device?user_code=${userCode}`, {
    headers: { "x-forwarded-for": address, ...person.headers },
  });

test("a device gets its token once a person has compared and approved its code", async () => {
  const login = await startDevice(keep);
  expect(login.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/u);
  expect([login.expires_in, login.interval]).toEqual([600, 5]);
  expect(login.verification_uri_complete).toBe(`${login.verification_uri}?user_code=${login.user_code}`);
  expect((await exchangeDevice(keep, login.device_code)).body.error).toBe("authorization_pending");
  expect((await exchangeDevice(keep, login.device_code)).body.error).toBe("slow_down");
  await wait();
  expect((await exchangeDevice(keep, login.device_code)).body.error).toBe("authorization_pending");
  const page = await showPage(login.user_code.toLowerCase().replace("-", ""));
  const html = await page.text();
  for (const text of ["server", login.user_code, "List and read secrets", "10.0."])
    expect(html).toContain(text);
  expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  expect((await enter(login.user_code)).status).toBe(200);
  const results = await Promise.all(Array.from({ length: 5 }, () => exchangeDevice(keep, login.device_code)));
  const [issued, ...others] = results.filter(({ status }) => status === 200);
  expect(others).toEqual([]);
  expect(issued?.body.scope).toBe("vaults:read secrets:list secrets:read");
  expect((await exchangeDevice(keep, login.device_code)).body.error).toBe("invalid_grant");
});

test("a denied, expired or unknown login gives no token, and a code is decided once", async () => {
  const denied = await startDevice(keep);
  expect((await enter(denied.user_code, { decision: "deny" })).status).toBe(200);
  expect((await enter(denied.user_code)).status).toBe(404);
  const { body: audit } = await person.send<{ items: readonly { body: object }[] }>(
    "GET",
    "/api/secrets/audit?type=command-line-denied",
  );
  expect(audit.items.map(({ body }) => body)).toMatchObject([{ machine: "server" }]);
  expect((await exchangeDevice(keep, denied.device_code)).body.error).toBe("access_denied");
  const late = await startDevice(keep);
  await runSql("UPDATE command_line_login SET expires_at = now() - interval '1 second'");
  expect((await showPage(late.user_code)).status).toBe(404);
  expect((await enter(late.user_code)).status).toBe(404);
  expect((await exchangeDevice(keep, late.device_code)).body.error).toBe("expired_token");
  expect((await exchangeDevice(keep, generateRandomToken())).body.error).toBe("invalid_grant");
  const undecided = await startDevice(keep);
  // A device code is not the code of a redirect.
  expect((await exchangeCode(keep, undecided.device_code, generateRandomToken())).status).toBe(400);
});

test("pages of other sites, old sign-ins and the form of another session approve no device", async () => {
  const login = await startDevice(keep);
  const foreign = { ...person.headers, "sec-fetch-site": "cross-site" };
  expect((await enter(login.user_code, { headers: foreign })).status).toBe(403);
  const other = await addTeammate(keep);
  expect(await (await enter(login.user_code, { headers: other.headers })).text()).toContain("Approve");
  const stale = await addTeammate(keep, undefined, "20 minutes");
  expect(await (await enter(login.user_code, { by: stale })).text()).toContain("Sign in again");
  await wait();
  expect((await exchangeDevice(keep, login.device_code)).body.error).toBe("authorization_pending");
  expect((await enter(login.user_code)).status).toBe(200);
  expect((await exchangeDevice(keep, login.device_code)).status).toBe(200);
});

test("an address guesses ten user codes a minute, and the right one too late", async () => {
  const login = await startDevice(keep);
  const address = "10.9.9.9";
  const statuses = [];
  for (let guess = 0; guess < 10; guess += 1) statuses.push((await enter("BBBB-BBBB", { address })).status);
  expect(new Set(statuses)).toEqual(new Set([404]));
  expect((await enter(login.user_code, { address })).status).toBe(429);
  expect((await showPage(login.user_code, address)).status).toBe(429);
  expect((await showPage(login.user_code)).status).toBe(200);
});

test("a login that was changed in the database is neither approved nor given to another device", async () => {
  const changes = [
    "machine = 'mine'",
    "permission = 'write'",
    "address = '10.1.1.1'",
    "expires_at = now() + interval '1 day'",
  ];
  for (const change of changes) {
    const login = await startDevice(keep);
    await runSql(`UPDATE command_line_login SET ${change} WHERE decision IS NULL`);
    expect([change, (await enter(login.user_code)).status]).toEqual([change, 404]);
    await runSql("DELETE FROM command_line_login");
  }
  const [victim, attacker] = [await startDevice(keep), await startDevice(keep)];
  expect((await enter(victim.user_code)).status).toBe(200);
  await runSql(
    "UPDATE command_line_login AS other SET decision = approved.decision, account_id = approved.account_id, person_id = approved.person_id, session_id = approved.session_id, mac = approved.mac FROM command_line_login AS approved WHERE approved.decision = 'approve' AND other.decision IS NULL",
  );
  expect((await exchangeDevice(keep, attacker.device_code)).body.error).toBe("invalid_grant");
  await wait();
  expect((await exchangeDevice(keep, victim.device_code)).status).toBe(200);
});
