/**
 * @module
 * Organisations with two people and a vault with protected paths, for tests of approvals. Requests are sent with a token
 * that the first person created; people decide through the use cases, as actors in the organisation.
 * Imported by tests only.
 */
import type {
  BatchOutcome,
  Change,
  ChangeSummary,
  Problem,
  SecretMetadata,
  SecretValue,
} from "@hearth-and-keep/vault-contract";
import type { Actor } from "../../../authorization/actor.ts";
import { fullGrant, type Grant } from "../../../authorization/grant.ts";
import { generateId } from "../../../generate-id.ts";
import { addMember } from "../../../organisations/add-member.ts";
import { createOrganisation } from "../../../organisations/create-organisation.ts";
import { everyScope } from "../../../test/open-vault.ts";
import type { TestGrant, TestKeep } from "../../../test/start-test-keep.ts";
import { approveChange, type DecisionDependencies, rejectChange, withdrawChange } from "../decide-change.ts";

/** Union of all response fields; each test checks those that it expects. */
export type ResponseBody = Change &
  SecretMetadata &
  SecretValue &
  BatchOutcome &
  Problem & {
    readonly items: readonly (ChangeSummary & SecretMetadata & SecretValue & { readonly body: AuditBody })[];
    readonly next_cursor?: string;
  };

type AuditBody = { readonly type: string; readonly by: string; readonly [field: string]: unknown };

export type Answer = { readonly status: number; readonly body: ResponseBody };

export type Team = {
  readonly keep: TestKeep;
  readonly organisation: string;
  readonly name: string;
  /** Accounts of the people, who are owners. The first one created the token. */
  readonly people: readonly [first: string, second: string];
  /** Of the first person. */
  readonly identity: string;
  readonly token: { readonly id: string; readonly text: string };
  send(method: string, path: string, body?: object, token?: string): Promise<Answer>;
  /** A token of the organisation that this person, token or trust rule created. */
  addToken(grant: TestGrant, createdBy: string): Promise<{ readonly id: string; readonly text: string }>;
  /** The person with a session of its own, in the organisation. */
  actor(personId: string, grant?: Grant): Actor;
  /** Creates a vault, and returns its URL. */
  createVault(): Promise<string>;
  readonly decisions: DecisionDependencies;
};

export async function startTeam(keep: TestKeep): Promise<Team> {
  const { accountId: first, identityId: identity } = await keep.addPerson();
  const { accountId: second } = await keep.addPerson();
  const by = {
    accountId: first,
    kind: "session",
    id: generateId(),
    address: "127.0.0.1",
    grant: fullGrant,
  } as const;
  const name = generateId();
  const { id: organisation } = await createOrganisation(by, name, keep.services);
  const actor: Team["actor"] = (personId, grant = fullGrant) => ({
    ...by,
    id: generateId(),
    accountId: organisation,
    personId,
    grant,
    authenticatedAt: new Date(),
  });
  const member = { accountId: organisation, personId: second, role: "owner", by: actor(first) } as const;
  await keep.database.inAccount(organisation, (transaction) => addMember(transaction, member, keep.services));
  const addToken = createAddToken(keep, organisation);
  const token = await addToken({ scopes: everyScope }, `person:${first}`);
  const send: Team["send"] = async (...[method, path, body, text = token.text]) => {
    const response = await keep.request(path, {
      method,
      token: text,
      ...(body === undefined ? {} : { body }),
    });
    const content = await response.text();
    // Checked by the test's assertions.
    return { status: response.status, body: JSON.parse(content === "" ? "null" : content) as ResponseBody };
  };
  return {
    keep,
    organisation,
    name,
    people: [first, second],
    identity,
    token,
    send,
    addToken,
    actor,
    async createVault() {
      const { status, body } = await send("POST", "/api/secrets/vaults", { name: "Project" });
      if (status !== 201) throw new Error(`Cannot create a vault: ${status}`);
      return `/api/secrets/vaults/${body.id}`;
    },
    decisions: { ...keep.services, findAccess: async () => ({ role: "member", grant: fullGrant }) },
  };
}

function createAddToken(keep: TestKeep, organisation: string): Team["addToken"] {
  return async (grant, createdBy) => {
    const added = await keep.addToken({ accountId: organisation }, grant);
    await keep.database.inAccount(organisation, (transaction) =>
      transaction.query({
        text: "UPDATE api_token SET created_by = $3 WHERE account_id = $1 AND id = $2",
        values: [organisation, added.id, createdBy],
      }),
    );
    return added;
  };
}

/** Throws unless the request succeeds. */
export async function expectOk(answer: Promise<Answer>): Promise<ResponseBody> {
  const { status, body } = await answer;
  if (status >= 400) throw new Error(`The request failed with ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** Writes a value at each path. */
export async function writeAll(team: Team, vault: string, values: Readonly<Record<string, string>>) {
  for (const [path, value] of Object.entries(values))
    await expectOk(team.send("PUT", `${vault}/secrets/by-path${path}`, { value }));
}

export function vaultIdOf(url: string): string {
  return url.split("/").at(-1) ?? "";
}

type Decider = { readonly actor: Actor; readonly vault: string; readonly change: string };

export async function approve(
  team: Team,
  { actor, vault, change }: Decider,
  fingerprint: string,
): Promise<void> {
  const request = { actor, vaultId: vaultIdOf(vault), changeId: change, idempotencyKey: undefined };
  await approveChange(request, Buffer.from(fingerprint, "hex"), team.decisions);
}

export async function reject(team: Team, { actor, vault, change }: Decider): Promise<void> {
  await rejectChange(
    { actor, vaultId: vaultIdOf(vault), changeId: change, idempotencyKey: undefined },
    team.decisions,
  );
}

export async function withdraw(team: Team, { actor, vault, change }: Decider): Promise<void> {
  await withdrawChange(
    { actor, vaultId: vaultIdOf(vault), changeId: change, idempotencyKey: undefined },
    team.decisions,
  );
}

/** Proposes with the token, and approves as the second person. */
export async function changeTogether(team: Team, vault: string, body: object): Promise<Change> {
  const change = await expectOk(team.send("POST", `${vault}/changes`, { reason: "Agreed", ...body }));
  const [, second] = team.people;
  await approve(team, { actor: team.actor(second), vault, change: change.id }, change.fingerprint);
  return change;
}
