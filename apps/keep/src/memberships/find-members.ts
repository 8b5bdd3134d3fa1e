import { Type } from "typebox";
import { Compile } from "typebox/compile";
import type { ProviderRequests } from "./provider-requests.ts";

type MembershipAnswer = "member" | "not-a-member" | "unknown";

export type Members = {
  /** Whether the person with this id is a member of any of the organizations and teams now. */
  find(subject: string): Promise<MembershipAnswer>;
};

const userId = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const membersResponse = Compile(Type.Array(Type.Object({ id: userId }), { maxItems: 100 }));
const userResponse = Compile(
  Type.Object({ id: userId, login: Type.String({ minLength: 1, maxLength: 255 }) }),
);
const membershipResponse = Compile(
  Type.Object({
    state: Type.String({ maxLength: 64 }),
    user: Type.Optional(Type.Object({ id: userId })),
  }),
);

/** Of one list of members; more are asked for one by one. */
const maxPages = 500;

/**
 * Lists the members of the organizations and teams, by id. People who are not listed are asked for, because a list is read page
 * by page while it changes; whoever is missing counts as gone only if all lists could be read.
 */
export async function listMembers(
  organizations: readonly string[],
  requests: ProviderRequests,
): Promise<Members> {
  const listed = new Set<string>();
  let areComplete = true;
  for (const name of organizations) if (!(await readList(name, listed, requests))) areComplete = false;
  return {
    async find(subject) {
      if (listed.has(subject)) return "member";
      return areComplete ? await askForPerson(subject, organizations, requests) : "unknown";
    },
  };
}

/** Adds the ids of the members; false when the list could not be read. */
async function readList(name: string, listed: Set<string>, requests: ProviderRequests): Promise<boolean> {
  for (let page = 1; page <= maxPages; page += 1) {
    const answer = await requests.get(`${pathOf(name)}/members?per_page=100&page=${page}`);
    if (answer === undefined) return false;
    // The token does not see the organization or the team, or it has another name now.
    if (answer.status !== 200 || !membersResponse.Check(answer.value)) {
      requests.fail("refused");
      return false;
    }
    for (const { id } of answer.value) listed.add(String(id));
    if (!answer.hasNextPage) return true;
  }
  return true;
}

/**
 * Logins can be renamed and registered again by somebody else, and memberships are asked for by login: it is looked up by the
 * id, and counts only if it is still the same afterwards.
 */
async function askForPerson(
  subject: string,
  organizations: readonly string[],
  requests: ProviderRequests,
): Promise<MembershipAnswer> {
  const login = await findLogin(subject, requests);
  if (login === undefined) return "unknown";
  if (login === deletedUser) return "not-a-member";
  const answers = new Set<MembershipAnswer>();
  for (const name of organizations) answers.add(await askForMembership(name, { subject, login }, requests));
  if ((await findLogin(subject, requests)) !== login) return "unknown";
  if (answers.has("member")) return "member";
  return answers.has("unknown") ? "unknown" : "not-a-member";
}

/** Not a login. */
const deletedUser = "";

/** Undefined when the provider does not say. */
async function findLogin(subject: string, requests: ProviderRequests): Promise<string | undefined> {
  const answer = await requests.get(`user/${encodeURIComponent(subject)}`);
  if (answer === undefined) return undefined;
  if (answer.status === 404) return deletedUser;
  if (userResponse.Check(answer.value) && String(answer.value.id) === subject) return answer.value.login;
  requests.fail("refused");
  return undefined;
}

type NamedPerson = { readonly subject: string; readonly login: string };

async function askForMembership(
  name: string,
  { subject, login }: NamedPerson,
  requests: ProviderRequests,
): Promise<MembershipAnswer> {
  const answer = await requests.get(`${pathOf(name)}/memberships/${encodeURIComponent(login)}`);
  if (answer === undefined) return "unknown";
  if (answer.status === 404) return "not-a-member";
  // The response for an organization names the user; the one for a team does not.
  const isAbout =
    membershipResponse.Check(answer.value) && String(answer.value.user?.id ?? subject) === subject;
  if (!isAbout) return "unknown";
  return answer.value.state === "active" ? "member" : "not-a-member";
}

/** Of `acme`, or of the team `acme/platform`. */
function pathOf(name: string): string {
  const [organization = "", team] = name.split("/");
  const path = `orgs/${encodeURIComponent(organization)}`;
  return team === undefined ? path : `${path}/teams/${encodeURIComponent(team)}`;
}
