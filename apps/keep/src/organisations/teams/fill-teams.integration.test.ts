import { hasLooseTimingBounds } from "@hearth-and-keep/figures";
import type { Session } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signAllRows } from "../../keys/row-integrity/account-epoch.ts";
import { createFakeBrowser } from "../../test/fake-browser.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../../test/start-keep-with-providers.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import {
  addFilledTeam,
  addGroupMember,
  addGroupPerson,
  findTeams,
  type Stated,
} from "../test/group-members.ts";
import {
  addMemberToken,
  addTeam,
  createOrganisation,
  createVault,
  readEvents,
  share,
  statusOf,
  statusWith,
  succeed,
  type TestOrganisation,
  valueOf,
} from "../test/shared-vault.ts";

const maxMilliseconds = hasLooseTimingBounds ? 10_000 : 1000;

let fixture: KeepWithProviders;
/** A node whose operator has set the claim, and one whose operator has not. */
let node: TestKeep;
let unset: TestKeep;
let acme: TestOrganisation;
beforeAll(async () => {
  const settings = { readsPerMinute: "1000000", writesPerMinute: "1000000" };
  fixture = await startKeepWithProviders({ settings });
  unset = fixture.keep;
  node = await fixture.addNode({ groupsClaim: "groups" });
  acme = await createOrganisation(unset);
});
afterAll(() => fixture[Symbol.asyncDispose]());

let groups = 0;

/** A member, and a team that a group of its own fills. */
async function start() {
  const group = `engineering-${(groups += 1)}-all`;
  const [team, member] = [await addFilledTeam(acme, group), await addGroupMember(fixture, node, acme)];
  // Every record's body has a type.
  const events = async () => (await readEvents(acme.owner, acme.organisation)) as readonly { type: string }[];
  return { group, team, member, events, teams: () => findTeams(acme, member) };
}

const none = { all: [], fromGroups: [] };
const onlyGroup = (team: string) => ({ all: [team], fromGroups: [team] });

test("the session names the provider whose groups fill teams, where the operator has set the claim", async () => {
  const [set, without] = await Promise.all(
    [node, unset].map((at) => acme.owner.on(at)<Session>("GET", "/api/session")),
  );
  expect(set?.body.providers).toContainEqual(expect.objectContaining({ kind: "general", fills_teams: true }));
  expect(JSON.stringify(without?.body.providers)).not.toContain("fills_teams");
});

test("a sign-in adds a member to the teams of their groups, and a later one removes them, as the log says", async () => {
  const { group, team, member, events, teams } = await start();
  const vault = await createVault(acme.owner, acme.organisation, ["/KEY"]);
  await share(acme.owner, vault, { holder: { type: "team", id: team }, role: "reader" });
  const read = async () => (await member.browser.request(valueOf(vault, "/KEY"))).status;
  expect([await teams(), await read()]).toEqual([none, 404]);
  await member.signIn({ groups: ["unknown", group] });
  expect([await teams(), await read()]).toEqual([onlyGroup(team), 200]);
  const ofMember = { team, person: member.accountId, group, by: "server" };
  expect((await events())[0]).toMatchObject({ type: "team-member-added", ...ofMember });
  await member.signIn({ groups: ["unknown"] });
  expect([await teams(), await read()]).toEqual([none, 404]);
  expect((await events())[0]).toMatchObject({ type: "team-member-removed", ...ofMember });
});

test("a sign-in that changes no team is not recorded", async () => {
  const { group, member, events } = await start();
  await member.signIn({ groups: [group] });
  const before = (await events()).length;
  await member.signIn({ groups: [group] });
  await member.signIn({ groups: [group, group, "another"] });
  expect(await events()).toHaveLength(before);
});

test("a member whom an owner added stays, whatever groups later sign-ins name", async () => {
  const { group, team, member, teams } = await start();
  const path = `${acme.organisation}/teams/${team}/members/${member.accountId}`;
  const byHand = { all: [team], fromGroups: [] };
  expect(await statusOf(acme.owner, "PUT", path)).toBe(204);
  for (const stated of [[], [group], []]) {
    await member.signIn({ groups: stated });
    expect(await teams()).toEqual(byHand);
  }
  expect(await statusOf(acme.owner, "DELETE", path)).toBe(204);
  await member.signIn({ groups: [group] });
  expect(await teams()).toEqual(onlyGroup(team));
  // From now on an owner vouches for the member.
  expect(await statusOf(acme.owner, "PUT", path)).toBe(204);
  expect(await teams()).toEqual(byHand);
  await member.signIn({ groups: [] });
  expect(await teams()).toEqual(byHand);
});

test("whom an owner removes joins again at the next sign-in while the group names them", async () => {
  const { group, team, member, teams } = await start();
  await member.signIn({ groups: [group] });
  const path = `${acme.organisation}/teams/${team}/members/${member.accountId}`;
  expect(await statusOf(acme.owner, "DELETE", path)).toBe(204);
  expect(await teams()).toEqual(none);
  await member.signIn({ groups: [group] });
  expect(await teams()).toEqual(onlyGroup(team));
});

const hostile: Readonly<Record<string, (group: string) => unknown>> = {
  "another case": (group) => [group.toUpperCase()],
  "full-width letters": (group) => [group.replace("e", "\uff45")],
  "a Cyrillic letter": (group) => [group.replace("e", "\u0435")],
  "an invisible character": (group) => [`${group}\u200b`],
  "a blank at the end": (group) => [`${group} `],
  "a character of zero": (group) => [`${group}\u0000`],
  "half a surrogate pair": (group) => [`${group}\ud800`],
  "the beginning": (group) => [group.slice(0, -1)],
  "several in one text": (group) => [`other,${group}`],
  "several in one claim": (group) => `other ${group}`,
};

test.each(Object.entries(hostile))("a group that differs by %s is another group", async (_name, change) => {
  const { group, team, member, teams } = await start();
  await member.signIn({ claims: { groups: change(group) } });
  expect(await teams()).toEqual(none);
  await member.signIn({ claims: { groups: [change(group), group].flat() } });
  expect(await teams()).toEqual(onlyGroup(team));
});

test("letters that look alike in two encodings are two groups", async () => {
  const [composed, combining] = ["caf\u00e9", "cafe\u0301"];
  const [team, member] = [await addFilledTeam(acme, composed), await addGroupMember(fixture, node, acme)];
  await member.signIn({ groups: [combining] });
  expect(await findTeams(acme, member)).toEqual(none);
  await member.signIn({ groups: [composed] });
  expect(await findTeams(acme, member)).toEqual(onlyGroup(team));
});

const unknown: Readonly<Record<string, readonly [stated: (group: string) => Stated, reason: string]>> = {
  "more than 200 groups": [
    (group) => ({ groups: [group, ...Array.from({ length: 200 }, (_, each) => `g${each}`)] }),
    "too-many-groups",
  ],
  "a part of the groups": [
    () => ({ claims: { groups: ["other"], _claim_names: { groups: "src1" } } }),
    "too-many-groups",
  ],
  "a list with a number": [() => ({ claims: { groups: ["other", 1] } }), "unreadable-groups"],
  "a list of objects": [() => ({ claims: { groups: [{ name: "other" }] } }), "unreadable-groups"],
  "an object": [() => ({ claims: { groups: { other: true } } }), "unreadable-groups"],
};

test.each(Object.entries(unknown))(
  "a token with %s changes no team, and that is recorded and logged",
  async (_name, [state, reason]) => {
    const { group, team, member, events, teams } = await start();
    await member.signIn({ groups: [group] });
    const added = await addFilledTeam(acme, group);
    await member.signIn(state(group));
    expect(await teams()).toEqual(onlyGroup(team));
    const skipped = { type: "team-groups-skipped", person: member.accountId, reason, by: "server" };
    expect((await events())[0]).toMatchObject(skipped);
    expect(node.logLines.at(-1)).toContain(`"skippedGroups":"${reason}"`);
    // A list that can be read changes both.
    await member.signIn({ groups: [group] });
    expect((await teams())?.all.toSorted()).toEqual([team, added].toSorted());
    await member.signIn({ groups: ["other"] });
    expect(await teams()).toEqual(none);
  },
);

test("without the claim, a person is in no group", async () => {
  const { group, team, member, teams } = await start();
  await member.signIn({ groups: [group] });
  expect(await teams()).toEqual(onlyGroup(team));
  await member.signIn({});
  expect(await teams()).toEqual(none);
});

test("of a list of 10,000 groups, each twice, each team is joined once", async () => {
  const { group, team, member, events, teams } = await start();
  const others = Array.from({ length: 5000 }, (_, index) => `group-${index}-${"x".repeat(40)}`);
  const second = await addFilledTeam(acme, others[4999] ?? "");
  await member.signIn({ claims: { groups: [...others, group, ...others, group] } });
  expect((await teams())?.all.toSorted()).toEqual([team, second].toSorted());
  expect((await events()).slice(0, 3).filter(({ type }) => type === "team-member-added")).toHaveLength(2);
});

test("concurrent sign-ins of a person leave one membership of each team", async () => {
  const { group, team, member, teams } = await start();
  const stated = { groups: [group] };
  await Promise.all(Array.from({ length: 6 }, () => member.signIn(stated)));
  expect(await teams()).toEqual(onlyGroup(team));
  await Promise.all(Array.from({ length: 6 }, () => member.signIn({ groups: [] })));
  expect(await teams()).toEqual(none);
});

test("a provider fills teams only if the operator has named the claim", async () => {
  const { group, team, member, teams } = await start();
  await member.signIn({ groups: [group] }, unset);
  expect(await teams()).toEqual(none);
  await member.signIn({ groups: [group] }, node);
  expect(await teams()).toEqual(onlyGroup(team));
  await member.signIn({ groups: [] }, unset);
  expect(await teams()).toEqual(onlyGroup(team));
  await member.signIn({ groups: [] }, node);
  expect(await teams()).toEqual(none);
});

test("a group makes nobody a member of an organisation, and fills its teams in each one that they belong to", async () => {
  const { group, member, teams, team } = await start();
  const [globex, foreign] = [await createOrganisation(unset), await createOrganisation(unset)];
  const [inGlobex, inForeign] = [await addFilledTeam(globex, group), await addFilledTeam(foreign, group)];
  const outsider = await addGroupPerson(fixture, node, { groups: [group] });
  const code = (
    await succeed<{ code: string }>(globex.owner, "POST", `${globex.organisation}/invitations`, {
      role: "auditor",
    })
  ).code;
  await member.browser.request("/api/invitations/accept", { method: "POST", body: { code } });
  await member.signIn({ groups: [group] });
  expect([await teams(), await findTeams(globex, member)]).toEqual([onlyGroup(team), onlyGroup(inGlobex)]);
  for (const organisation of [acme, globex, foreign])
    expect(await findTeams(organisation, outsider)).toBeUndefined();
  expect(await findTeams(foreign, member)).toBeUndefined();
  const { items } = await succeed<{ items: { id: string; members: number }[] }>(
    foreign.owner,
    "GET",
    `${foreign.organisation}/teams`,
  );
  expect(items).toMatchObject([{ id: inForeign, members: 0 }]);
});

test("a person who joins by an invitation at their first sign-in is in the teams of their groups at once", async () => {
  const invited = await fixture.addNode({ groupsClaim: "groups", admission: "invitation" });
  const team = await addFilledTeam(acme, "newcomers");
  const subject = crypto.randomUUID();
  const { code } = await succeed<{ code: string }>(acme.owner, "POST", `${acme.organisation}/invitations`, {
    role: "member",
  });
  fixture.general.putAccount({
    subject,
    email: `${subject}@example.test`,
    isEmailVerified: true,
    groups: ["newcomers"],
  });
  const browser = createFakeBrowser(invited);
  const begun = await browser.request(`/auth/login/general?invitation=${code}`, { method: "POST" });
  const location = begun.headers.get("location") ?? "";
  expect(
    (await browser.followCallback(await fixture.authenticateAt("general", location, subject))).status,
  ).toBe(303);
  const { id: accountId } = await browser.account();
  expect(await findTeams(acme, { accountId })).toEqual(onlyGroup(team));
});

const named = (count: number) => Array.from({ length: count }, (_, index) => `group ${index + 1}`);

test("groups that name more teams than a member can be in fill as many, and that is recorded", async () => {
  const full = await createOrganisation(unset);
  const member = await addGroupMember(fixture, node, full);
  await unset.database.inAccount(full.accountId, async (transaction) => {
    await transaction.query({
      text: "INSERT INTO team (id, account_id, name, external_group) SELECT gen_random_uuid(), $1, 'Team', 'group ' || number FROM generate_series(1, 102) AS number",
      values: [full.accountId],
    });
    await signAllRows(transaction, full.accountId, unset.services.serverKeys.rowMacs);
  });
  await member.signIn({ groups: named(102) });
  expect((await findTeams(full, member))?.all).toHaveLength(100);
  const skipped = { type: "team-groups-skipped", reason: "too-many-teams", person: member.accountId };
  expect(await readEvents(full.owner, full.organisation)).toContainEqual(expect.objectContaining(skipped));
  await member.signIn({ groups: named(3) });
  expect((await findTeams(full, member))?.fromGroups).toHaveLength(3);
});

test("what a group gave ends on every node within a second of the sign-in that takes it away", async () => {
  const { group, team, member } = await start();
  const vault = await createVault(acme.owner, acme.organisation, ["/KEY"]);
  await share(acme.owner, vault, { holder: { type: "team", id: team }, role: "reader" });
  const session = await member.signIn({ groups: [group] });
  const cookies = [...session.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const created = await session.request(`${acme.organisation}/tokens`, {
    method: "POST",
    body: { for: "me", name: "test", scopes: ["secrets:read"] },
  });
  // The response to a token that was created.
  const { value: token } = (await created.json()) as { value: string };
  const byHand = await addMemberToken(acme.owner, acme.organisation, {
    for: "organisation",
    scopes: ["secrets:read"],
    vault_ids: [vault.split("/").at(-1) ?? ""],
  });
  const third = await fixture.addNode();
  const nodes = [unset, node, third];
  const read = (at: TestKeep, value: string) => statusWith(at, value, "GET", valueOf(vault, "/KEY"));
  const readAll = (value: string) => Promise.all(nodes.map((at) => read(at, value)));
  // Each node keeps in memory what the owner of the token may do.
  expect([await readAll(token), await readAll(token)]).toEqual([
    [200, 200, 200],
    [200, 200, 200],
  ]);
  await member.signIn({ groups: [] });
  const endedAt = performance.now();
  await expect.poll(() => readAll(token), { interval: 20, timeout: 30_000 }).toEqual([403, 403, 403]);
  expect(performance.now() - endedAt).toBeLessThan(maxMilliseconds);
  const bySession = await Promise.all(
    nodes.map(
      async ({ url }) =>
        (
          await fetch(new URL(valueOf(vault, "/KEY"), url), {
            headers: { cookie: cookies, "sec-fetch-site": "same-origin" },
          })
        ).status,
    ),
  );
  expect(bySession).toEqual([404, 404, 404]);
  // What is not the member's goes on.
  expect(await readAll(byHand.value)).toEqual([200, 200, 200]);
});

test("a team that no group fills is left alone by sign-ins", async () => {
  const { group, team, member, teams } = await start();
  const other = await addTeam(acme.owner, acme.organisation);
  await member.signIn({ groups: [group, "Operations", other.id] });
  expect(await teams()).toEqual(onlyGroup(team));
});
