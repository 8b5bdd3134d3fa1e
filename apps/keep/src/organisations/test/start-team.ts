/**
 * @module
 * People with sessions and an organisation of theirs, its vaults, grants, teams and tokens, for tests. They are inserted or
 * created as Keep does it.
 * Imported by tests only.
 */
import type { IssuedInvitation, Organisation, Problem } from "@hearth-and-keep/vault-contract";
import { addSession } from "../../access/test/fixture.ts";
import type { Role } from "../../authorization/roles.ts";
import type { TestKeep, TestPerson } from "../../test/start-test-keep.ts";

type Answer<Body> = { readonly status: number; readonly body: Body };

/** Throws unless the response is JSON or empty. */
type Send = <Body = Problem>(method: string, path: string, body?: object) => Promise<Answer<Body>>;

/** A person with a session. */
export type Teammate = TestPerson & {
  readonly send: Send;
  /** Headers of a request with the session. */
  readonly headers: Readonly<Record<string, string>>;
  /** `send` to another node on the same database. */
  on(node: Pick<TestKeep, "request">): Send;
};

export async function addTeammate(keep: TestKeep, subject?: string, ago = "1 minute"): Promise<Teammate> {
  const person = await keep.addPerson(subject);
  const session = await addSession(keep, person, ago);
  const headers = { cookie: `session=${session.text}`, "sec-fetch-site": "same-origin" };
  const on = (node: Pick<TestKeep, "request">): Send => createSend(node, headers);
  return { ...person, headers, on, send: on(keep) };
}

function createSend(node: Pick<TestKeep, "request">, headers: Teammate["headers"]): Send {
  return async <Body>(method: string, path: string, body?: object): Promise<Answer<Body>> => {
    const request = { method, headers, ...(body === undefined ? {} : { body }) };
    const response = await node.request(path, request);
    const text = await response.text();
    // The type that the caller expects of this route.
    return { status: response.status, body: (text === "" ? undefined : JSON.parse(text)) as Body };
  };
}

export async function createTeam(owner: Teammate, name = "Acme"): Promise<string> {
  const { status, body } = await owner.send<Organisation>("POST", "/api/organisations", { name });
  if (status !== 201) throw new Error(`Cannot create the organisation: ${status}`);
  return `/api/organisations/${body.id}`;
}

/** Returns the code of a new invitation. */
export async function invite(
  owner: Teammate,
  team: string,
  invitation: { readonly role: Role; readonly identity?: string },
): Promise<string> {
  const { status, body } = await owner.send<IssuedInvitation>("POST", `${team}/invitations`, invitation);
  if (status !== 201) throw new Error(`Cannot invite: ${status}`);
  return body.code;
}

export async function join(owner: Teammate, team: string, joining: readonly [Teammate, Role]): Promise<void> {
  const [person, role] = joining;
  const code = await invite(owner, team, { role });
  const { status } = await person.send("POST", "/api/invitations/accept", { code });
  if (status !== 200) throw new Error(`Cannot join: ${status}`);
}
