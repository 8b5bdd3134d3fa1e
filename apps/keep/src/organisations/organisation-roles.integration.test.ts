import { afterAll, beforeAll, expect, test } from "vitest";
import { examples, fillPath } from "../access/test/example-requests.ts";
import { missingObjects } from "../access/test/fixture.ts";
import { type Role, roleAllows } from "../authorization/roles.ts";
import { routes } from "../routes.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";
import { addTeammate, createTeam, join, type Teammate } from "./test/start-team.ts";

let keep: TestKeep;
let people: Readonly<Record<Role | "outsider" | "stale owner", Teammate>>;
let team: string;
beforeAll(async () => {
  keep = await startTestKeep({ settings: { readsPerMinute: "1000000", writesPerMinute: "1000000" } });
  const owner = await addTeammate(keep);
  team = await createTeam(owner);
  const [member, auditor, outsider] = [
    await addTeammate(keep),
    await addTeammate(keep),
    await addTeammate(keep),
  ];
  await join(owner, team, [member, "member"]);
  await join(owner, team, [auditor, "auditor"]);
  const staleOwner = await addTeammate(keep, undefined, "1 hour");
  await join(owner, team, [staleOwner, "owner"]);
  people = { owner, member, auditor, outsider, "stale owner": staleOwner };
});
afterAll(() => keep[Symbol.asyncDispose]());

const memberRows = routes.flatMap((row) =>
  row.access === "member" || row.access === "fresh-member" ? [row] : [],
);

/** On objects that do not exist in the organisation, so that nothing changes. */
function requestOf({ method, path }: (typeof memberRows)[number]): readonly [string, string, object?] {
  const organisation = team.split("/").at(-1) ?? "";
  const address = fillPath(path, { ...missingObjects(), organisation });
  const { body } = examples[`${method} ${path}`] ?? {};
  if (body === undefined) return [method, address];
  // Only the deletion confirms a name, which must not match here.
  return [method, address, typeof body === "function" ? { confirm: "another name" } : body];
}

test.each(memberRows)("$method $path lets in exactly the roles that have the right", async (row) => {
  for (const role of ["owner", "member", "auditor"] as const) {
    // Nobody leaves before the other routes are tried.
    if (role !== "owner" && row.path.endsWith("/leave")) continue;
    const { status, body } = await people[role].send(...requestOf(row));
    const isRefused = status === 403 && body.code === "role_required";
    expect([role, isRefused, status >= 500]).toEqual([role, !roleAllows(role, row.right), false]);
  }
  const foreign = await people.outsider.send(...requestOf(row));
  const [method, path, body] = requestOf(row);
  const organisation = team.split("/").at(-1) ?? "";
  const missing = await people.outsider.send(
    method,
    path.replace(organisation, missingObjects().organisation),
    body,
  );
  const withoutId = { request_id: "" };
  expect([foreign.status, missing.status]).toEqual([404, 404]);
  expect({ ...foreign.body, ...withoutId }).toEqual({ ...missing.body, ...withoutId });
  const stale = await people["stale owner"].send(...requestOf(row));
  const isTooOld = stale.body?.code === "fresh_sign_in_required";
  expect([isTooOld, isTooOld && stale.status !== 403]).toEqual([row.access === "fresh-member", false]);
});

test("no token opens a route of an organisation, nor one of the owner's", async () => {
  const { text: token } = await keep.addToken(people.owner, { scopes: ["vaults:read", "audit:read"] });
  for (const row of memberRows) {
    const [method, path, body] = requestOf(row);
    const response = await keep.request(path, { method, token, ...(body === undefined ? {} : { body }) });
    // A problem document.
    const problem = (await response.json()) as { readonly code: string };
    expect([response.status, problem.code]).toEqual([403, "session_required"]);
  }
});

test("a denied request of a member is in the organisation's audit log, with the person", async () => {
  expect((await people.member.send("GET", `${team}/audit`)).status).toBe(403);
  const invitation = await people["stale owner"].send("POST", `${team}/invitations`, { role: "owner" });
  expect(invitation.status).toBe(403);
  const denials = async () =>
    (
      await people.auditor.send<{ items: { body: { by: string; reason: string } }[] }>(
        "GET",
        `${team}/audit?type=denied&limit=200`,
      )
    ).body.items.map(({ body: { by, reason } }) => `${by} ${reason}`);
  await expect.poll(denials).toContain(`person:${people.member.accountId} role-required`);
  await expect.poll(denials).toContain(`person:${people["stale owner"].accountId} sign-in-too-old`);
});
