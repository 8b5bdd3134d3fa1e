import { type CodeHostingAccount, type CodeHostingAccounts, describeUser } from "./accounts.ts";

export type ApiResponse = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

export type MembershipRequest = {
  /** Method and path. */
  readonly route: string;
  readonly query: URLSearchParams;
  readonly origin: string;
  /** The owner of the token. */
  readonly account: CodeHostingAccount;
  readonly scopes: readonly string[];
  readonly accounts: CodeHostingAccounts;
};

type Group = { readonly organization: string; readonly team: string | undefined };

const ownRoute = /^GET \/user\/memberships\/orgs\/(?<organization>[^/]+)$/u;
const memberRoute =
  /^GET \/orgs\/(?<organization>[^/]+)(?:\/teams\/(?<team>[^/]+))?\/memberships\/(?<login>[^/]+)$/u;
const listRoute = /^GET \/orgs\/(?<organization>[^/]+)(?:\/teams\/(?<team>[^/]+))?\/members$/u;
const userRoute = /^GET \/user\/(?<id>\d+)$/u;

/** Memberships, lists of members and users by their ids. Undefined for other paths. */
export function respondWithMembership(request: MembershipRequest): ApiResponse | undefined {
  const { route, accounts, origin } = request;
  const id = userRoute.exec(route)?.groups?.["id"];
  if (id !== undefined) {
    const user = accounts.findById(Number(id));
    return user === undefined ? notFound : { status: 200, body: describeUser(user, origin) };
  }
  const groups = (ownRoute.exec(route) ?? memberRoute.exec(route) ?? listRoute.exec(route))?.groups;
  if (groups === undefined) return undefined;
  const { organization = "", team, login } = groups;
  if (isBlocked(request.account, organization))
    return apiError(
      403,
      "Although you appear to have the correct authorization credentials, the organization has enabled OAuth App access restrictions.",
    );
  if (!request.scopes.includes("read:org")) return apiError(403, "You need at least read:org scope.");
  const group = { organization, team };
  return listRoute.test(route) ? listMembers(group, request) : describeMembership(group, login, request);
}

/** Names are compared without case, as GitHub does. */
function findMembership(account: CodeHostingAccount, { organization, team }: Group) {
  return account.memberships?.find(
    (each) =>
      each.organization.toLowerCase() === organization.toLowerCase() &&
      each.team?.toLowerCase() === team?.toLowerCase(),
  );
}

function isBlocked({ memberships = [] }: CodeHostingAccount, organization: string): boolean {
  return memberships.some((each) => each.organization === organization && each.state === "blocked");
}

/** Whether the account may see the members of the organization. */
function isInside({ memberships = [] }: CodeHostingAccount, organization: string): boolean {
  return memberships.some(
    (each) => each.organization.toLowerCase() === organization.toLowerCase() && each.state === "active",
  );
}

function describeMembership(
  group: Group,
  login: string | undefined,
  { account, accounts, origin }: MembershipRequest,
): ApiResponse {
  const isOther = login !== undefined && login !== account.login;
  if (isOther && !isInside(account, group.organization))
    return group.team === undefined
      ? apiError(403, "You must be a member of this organization to see membership information.")
      : notFound;
  const member = isOther ? accounts.list().find((each) => each.login === login) : account;
  const found = member && findMembership(member, group);
  if (member === undefined || found === undefined) return notFound;
  const { state } = found;
  // Only the response for an organization names it and the user.
  const names =
    group.team === undefined
      ? { organization: { login: found.organization }, user: describeUser(member, origin) }
      : {};
  return { status: 200, body: { state, role: "member", ...names } };
}

function listMembers(group: Group, { account, accounts, query, origin }: MembershipRequest): ApiResponse {
  if (!isInside(account, group.organization))
    return group.team === undefined
      ? {
          status: 302,
          body: {},
          headers: { location: `${origin}/orgs/${group.organization}/public_members` },
        }
      : notFound;
  const members = accounts.list().filter((each) => findMembership(each, group)?.state === "active");
  const perPage = Math.min(Number(query.get("per_page") ?? 30), 100);
  const page = Number(query.get("page") ?? 1);
  const next = `<${origin}/organizations/1/members?page=${page + 1}>; rel="next"`;
  return {
    status: 200,
    body: members.slice((page - 1) * perPage, page * perPage).map((each) => describeUser(each, origin)),
    headers: members.length > page * perPage ? { link: next } : {},
  };
}

export function apiError(status: number, message: string): ApiResponse {
  return {
    status,
    body: { message, documentation_url: "https://docs.github.com/rest", status: String(status) },
  };
}

const notFound = apiError(404, "Not Found");
