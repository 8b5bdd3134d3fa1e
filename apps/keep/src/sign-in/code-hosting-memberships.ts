import { FailureError } from "@hearth-and-keep/failures";
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import type { Evidence } from "../admission/decide-admission.ts";
import { type ProviderClient, readJson, resolveUnder } from "./provider-client.ts";

/** `pending` until the person accepts the invitation. */
const activeMembership = Compile(
  Type.Object({
    state: Type.Literal("active"),
    organization: Type.Optional(Type.Object({ login: Type.String({ maxLength: 255 }) })),
  }),
);

type MembershipSource = { readonly api: URL; readonly organizations: readonly string[] };

type MembershipQuery = {
  readonly client: ProviderClient;
  readonly token: string;
  /** The person's name in the URLs of team memberships. */
  readonly login: string;
};

/** Those of the configured organizations and teams of which the person is an active member. */
export async function findMemberships(
  { api, organizations }: MembershipSource,
  query: MembershipQuery,
): Promise<Evidence["organizations"]> {
  try {
    const found = await Promise.all(
      organizations.map(async (name) => ((await isActiveMember(api, name, query)) ? [name] : [])),
    );
    return found.flat();
  } catch (error) {
    // Another rule may admit the person, and no outage of this one locks an operator out.
    if (error instanceof FailureError) return "unavailable";
    throw error;
  }
}

/** Also false when the organization has not approved Keep's application, or requires single sign-on there first. */
async function isActiveMember(
  api: URL,
  name: string,
  { client, token, login }: MembershipQuery,
): Promise<boolean> {
  const [organization = "", team] = name.split("/");
  const path =
    team === undefined
      ? `user/memberships/orgs/${encodeURIComponent(organization)}`
      : `orgs/${encodeURIComponent(organization)}/teams/${encodeURIComponent(team)}/memberships/${encodeURIComponent(login)}`;
  const credentials = { authorization: `Bearer ${token}` };
  const { status, value } = await readJson(resolveUnder(api, path), client, credentials);
  if (status !== 200 || !activeMembership.Check(value)) return false;
  const isNamed = value.organization?.login.toLowerCase() === organization.toLowerCase();
  return team === undefined ? isNamed : value.organization === undefined || isNamed;
}
