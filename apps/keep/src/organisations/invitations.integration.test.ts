import type { Invitation, IssuedInvitation, Organisation } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asSuperuser } from "../keys/test/tamper-fixtures.ts";
import { createFakeBrowser, type FakeBrowser, readAs } from "../test/fake-browser.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";
import { addTeammate, createTeam, invite, type Teammate } from "./test/start-team.ts";

const unlimited = { readsPerMinute: "1000000", writesPerMinute: "1000000" };

const changeInvitations = (databaseUrl: string, text: string) =>
  asSuperuser(databaseUrl, async (superuser) => (await superuser.query(text)).rows);

const accept = async (person: Teammate, code: string): Promise<number> =>
  (await person.send("POST", "/api/invitations/accept", { code })).status;
const ascending = (one: number, other: number): number => one - other;

describe("an invitation", () => {
  let keep: TestKeep;
  let owner: Teammate;
  let team: string;
  beforeAll(async () => {
    keep = await startTestKeep({ settings: unlimited });
    owner = await addTeammate(keep);
    team = await createTeam(owner);
  });
  afterAll(() => keep[Symbol.asyncDispose]());

  const list = async (): Promise<readonly Invitation[]> =>
    (await owner.send<{ items: Invitation[] }>("GET", `${team}/invitations`)).body.items;

  test("is shown once with its link, lasts seven days and admits one person once", async () => {
    const { status, body } = await owner.send<IssuedInvitation>("POST", `${team}/invitations`, {
      role: "auditor",
    });
    expect([status, body.role, body.identity]).toEqual([201, "auditor", null]);
    expect(body.link).toBe(`${keep.url}/invitation/${body.code}`);
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBeGreaterThan(6.99 * 86_400_000);
    expect(JSON.stringify(await list())).not.toContain(body.code);
    const [first, second] = [await addTeammate(keep), await addTeammate(keep)];
    const accepted = await first.send<Organisation>("POST", "/api/invitations/accept", { code: body.code });
    expect(accepted).toMatchObject({ status: 200, body: { name: "Acme", role: "auditor" } });
    const refused = await second.send("POST", "/api/invitations/accept", { code: body.code });
    const detail = expect.stringContaining("ask for a new one");
    expect(refused).toMatchObject({ status: 404, body: { code: "not_found", detail } });
    expect((await list()).map(({ id }) => id)).not.toContain(body.id);
  });

  test("admits one of many who accept it at once", async () => {
    const code = await invite(owner, team, { role: "member" });
    const people = await Promise.all(Array.from({ length: 8 }, () => addTeammate(keep)));
    const statuses = await Promise.all(people.map((person) => accept(person, code)));
    expect(statuses.toSorted(ascending)).toEqual([200, ...Array.from({ length: 7 }, () => 404)]);
  });

  test("that is revoked, expired, changed or put back after its use does not admit", async () => {
    const person = await addTeammate(keep);
    const revoked = await owner.send<IssuedInvitation>("POST", `${team}/invitations`, { role: "member" });
    const path = `${team}/invitations/${revoked.body.id}`;
    expect((await owner.send("DELETE", path)).status).toBe(204);
    expect((await owner.send("DELETE", path)).status).toBe(404);
    expect(await accept(person, revoked.body.code)).toBe(404);
    const code = await invite(owner, team, { role: "member" });
    const change = (set: string) => changeInvitations(keep.databaseUrl, `UPDATE invitation SET ${set}`);
    await change("expires_at = expires_at - interval '8 days'");
    expect(await accept(person, code)).toBe(404);
    await change("expires_at = expires_at + interval '9 days'");
    expect(await accept(person, code)).toBe(404);
    await change("expires_at = expires_at - interval '1 day', role = 'owner'");
    expect(await accept(person, code)).toBe(404);
    await change("role = 'member'");
    await changeInvitations(keep.databaseUrl, "CREATE TABLE kept AS SELECT * FROM invitation");
    expect(await accept(person, code)).toBe(200);
    await changeInvitations(keep.databaseUrl, "INSERT INTO invitation SELECT * FROM kept");
    expect(await accept(await addTeammate(keep), code)).toBe(404);
    await changeInvitations(keep.databaseUrl, "DELETE FROM invitation");
  });

  test("bound to an identity admits that person alone", async () => {
    const code = await invite(owner, team, { role: "member", identity: "general:expected" });
    const [other, expected] = [await addTeammate(keep, "other"), await addTeammate(keep, "expected")];
    expect(await accept(other, code)).toBe(404);
    expect(await accept(expected, code)).toBe(200);
    expect(await accept(expected, await invite(owner, team, { role: "owner" }))).toBe(409);
  });

  test("that cannot be one is refused like one that is used", async () => {
    const id = team.split("/").at(-1) ?? "";
    const person = await addTeammate(keep);
    for (const code of ["x", id, `${id}.`, `${id}.${"A".repeat(43)}`, `${id}.${"A".repeat(43)}.x`])
      expect(await accept(person, code)).toBe(404);
  });
});

describe("with --admission invitation", () => {
  let fixture: KeepWithProviders;
  let owner: FakeBrowser;
  let team: string;
  beforeAll(async () => {
    fixture = await startKeepWithProviders({
      settings: { ...unlimited, admission: "invitation", operators: "code-hosting:201" },
    });
    owner = await fixture.signIn("code-hosting", "first");
    const body = { name: "A <b>team</b>" };
    const created = await readAs<Organisation>(
      await owner.request("/api/organisations", { method: "POST", body }),
    );
    team = `/api/organisations/${created.id}`;
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  const createInvitation = async (identity?: string): Promise<string> => {
    const body = { role: "member", ...(identity === undefined ? {} : { identity }) };
    const response = await owner.request(`${team}/invitations`, { method: "POST", body });
    return (await readAs<IssuedInvitation>(response)).code;
  };

  /** Follows the button on the invitation's page, through the provider, back to Keep. */
  async function signInWith(code: string, account: string, browser = createFakeBrowser(fixture.keep)) {
    const page = await (await browser.request(`/invitation/${code}`)).text();
    const action = /action="(?<url>\/auth\/login\/general[^"]*)"/u.exec(page)?.groups?.["url"] ?? "";
    const started = await browser.request(action.replaceAll("&amp;", "&"), { method: "POST" });
    const callback = await fixture.authenticateAt("general", started.headers.get("location") ?? "", account);
    return { browser, page, response: await browser.followCallback(callback) };
  }

  const addPerson = (subject: string): void =>
    fixture.general.putAccount({ subject, email: `${subject}@example.com`, isEmailVerified: true });

  test("a person with a valid invitation gets an account and is a member; others are refused", async () => {
    addPerson("901");
    await expect(fixture.signIn("general", "901")).rejects.toThrow("Keep returned 403");
    const code = await createInvitation();
    const { browser, page, response } = await signInWith(code, "901");
    expect(page).toContain("A &lt;b&gt;team&lt;/b&gt;");
    expect(response.status).toBe(303);
    expect(await readAs(await browser.request("/api/organisations"))).toMatchObject({
      items: [{ role: "member" }],
    });
    // The account exists now, so that it needs no invitation again.
    expect(await (await fixture.signIn("general", "901")).isSignedIn()).toBe(true);
    // Nobody else with the same link.
    addPerson("902");
    expect((await createFakeBrowser(fixture.keep).request(`/invitation/${code}`)).status).toBe(404);
  });

  test("of two people with one link, one gets an account", async () => {
    addPerson("903");
    addPerson("904");
    const code = await createInvitation();
    const signIns = await Promise.all([signInWith(code, "903"), signInWith(code, "904")]);
    expect(signIns.map(({ response }) => response.status).toSorted(ascending)).toEqual([303, 403]);
    const refused = signIns.find(({ response }) => response.status === 403);
    expect(await refused?.response.text()).toContain("This invitation is not valid");
    expect(await refused?.browser.isSignedIn()).toBe(false);
  });

  test("an invitation for another identity admits nobody, and stays valid for that one", async () => {
    addPerson("905");
    addPerson("906");
    const code = await createInvitation("general:906");
    expect((await signInWith(code, "905")).response.status).toBe(403);
    expect((await signInWith(code, "906")).response.status).toBe(303);
  });

  test("a person who is signed in joins from the page, and only from Keep's own", async () => {
    addPerson("907");
    const { browser } = await signInWith(await createInvitation(), "907");
    const other = await readAs<Organisation>(
      await owner.request("/api/organisations", { method: "POST", body: { name: "Second" } }),
    );
    const invited = await readAs<IssuedInvitation>(
      await owner.request(`/api/organisations/${other.id}/invitations`, {
        method: "POST",
        body: { role: "auditor" },
      }),
    );
    const path = `/invitation/${invited.code}`;
    expect(await (await browser.request(path)).text()).toContain("Join Second");
    const fromElsewhere = { method: "POST", headers: { "sec-fetch-site": "cross-site" } };
    expect((await browser.request(path, fromElsewhere)).status).toBe(403);
    expect((await browser.request(path, { method: "POST" })).status).toBe(303);
    expect(await readAs(await browser.request("/api/organisations"))).toMatchObject({
      items: [{ role: "member" }, { name: "Second", role: "auditor" }],
    });
    expect((await browser.request(path, { method: "POST" })).status).toBe(404);
    // Somebody with an account who signs in from the page of an invitation is asked there.
    const again = await createInvitation();
    const { response } = await signInWith(again, "907");
    expect(response.headers.get("location")).toBe(`/invitation/${again}`);
  });
});
