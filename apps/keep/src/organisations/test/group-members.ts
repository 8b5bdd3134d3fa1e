import type { GeneralAccount } from "@hearth-and-keep/test-servers";
import type { Member, Team } from "@hearth-and-keep/vault-contract";
import type { FakeBrowser } from "../../test/fake-browser.ts";
import type { KeepWithProviders } from "../../test/start-keep-with-providers.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { succeed, type TestOrganisation } from "./shared-vault.ts";
import { invite } from "./start-team.ts";

/** What the provider says of a person at a sign-in. */
export type Stated = Pick<GeneralAccount, "groups" | "claims">;

/** A person who signs in with the general-purpose provider. */
export type GroupPerson = {
  readonly accountId: string;
  readonly subject: string;
  /** With the session of the first sign-in. */
  readonly browser: FakeBrowser;
  /** Signs in again. */
  signIn(stated: Stated, at?: TestKeep): Promise<FakeBrowser>;
};

export async function addGroupPerson(
  fixture: KeepWithProviders,
  at: TestKeep,
  stated: Stated = {},
): Promise<GroupPerson> {
  const subject = crypto.randomUUID();
  const signIn = (said: Stated, node = at): Promise<FakeBrowser> => {
    const email = `${subject}@example.test`;
    fixture.general.putAccount({ subject, email, isEmailVerified: true, ...said });
    return fixture.signIn("general", subject, node);
  };
  const browser = await signIn(stated);
  const { id: accountId } = await browser.account();
  return { accountId, subject, browser, signIn };
}

/** A person who is a member of the organisation, and in no team of it. */
export async function addGroupMember(
  fixture: KeepWithProviders,
  at: TestKeep,
  { owner, organisation }: TestOrganisation,
): Promise<GroupPerson> {
  const person = await addGroupPerson(fixture, at);
  const code = await invite(owner, organisation, { role: "member" });
  const accepted = await person.browser.request("/api/invitations/accept", {
    method: "POST",
    body: { code },
  });
  if (accepted.status !== 200) throw new Error(`Cannot join: ${accepted.status}`);
  return person;
}

/** The id of a new team that a group fills. */
export async function addFilledTeam(
  { owner, organisation }: TestOrganisation,
  group: string,
  name = "Filled",
): Promise<string> {
  const body = { name, external_group: group };
  return (await succeed<Team>(owner, "POST", `${organisation}/teams`, body)).id;
}

export type MemberTeams = { readonly all: readonly string[]; readonly fromGroups: readonly string[] };

/** Undefined for a person who is no member. */
export async function findTeams(
  { owner, organisation }: TestOrganisation,
  { accountId }: Pick<GroupPerson, "accountId">,
): Promise<MemberTeams | undefined> {
  const { items } = await succeed<{ items: Member[] }>(owner, "GET", `${organisation}/members?limit=200`);
  const found = items.find(({ person_id: id }) => id === accountId);
  return found && { all: found.team_ids, fromGroups: found.group_team_ids };
}
