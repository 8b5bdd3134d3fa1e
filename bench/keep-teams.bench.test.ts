import { Agent, get } from "node:http";
import { recordFigure } from "@hearth-and-keep/figures";
import { startPostgres } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addSession } from "../apps/keep/src/access/test/fixture.ts";
import { generateId } from "../apps/keep/src/generate-id.ts";
import type { VaultGrant } from "../apps/keep/src/grants/vault-grants.ts";
import {
  addMemberToken,
  createOrganisation,
  createVault,
  idOf,
  personHolder,
  storeGrants,
  succeed,
  type TestOrganisation,
} from "../apps/keep/src/organisations/test/shared-vault.ts";
import { addTeammate, type Teammate } from "../apps/keep/src/organisations/test/start-team.ts";
import { startUnlimitedKeep } from "../apps/keep/src/test/open-vault.ts";
import { type ServingNode, startServingNode } from "../apps/keep/src/test/serving-node.ts";
import type { TestKeep } from "../apps/keep/src/test/start-test-keep.ts";
import { withoutRateLimits } from "./keep-fixture.ts";
import { compareInTurns, median, percentile, sized, upperBound } from "./rounds.ts";

const organisations = 2;
/** Of each organisation. */
const members = sized(2000, 200);
const teams = sized(200, 20);
const grants = sized(10_000, 1000);
const vaults = sized(100, 10);
/** Of a member. */
const teamsEach = 5;
/** Of the vault that is read. */
const secrets = sized(500, 50);
/** Members of each organisation who read, and as many sessions and tokens of one person. */
const readers = sized(10, 4);
const connections = 4;
const seconds = sized(2, 1);
const turns = sized(3, 1);
const needed = 1.3;

type Credential = "session" | "token";
type Request = { readonly path: string; readonly headers: Readonly<Record<string, string>> };
/** A vault, and the headers of those who read it. */
type Readable = { readonly vault: string } & Readonly<Record<Credential, readonly Request["headers"][]>>;

let stack: AsyncDisposableStack;
let node: ServingNode;
let ofOrganisations: readonly Readable[];
let ofPerson: readonly Readable[];

beforeAll(async () => {
  stack = new AsyncDisposableStack();
  const postgres = stack.use(await startPostgres({ durable: true, settings: { max_wal_size: "4GB" } }));
  const { url: databaseUrl } = stack.use(await postgres.createDatabase());
  const keep = await startUnlimitedKeep({ databaseUrl });
  ofPerson = [await fillPersonalVault(keep), await fillPersonalVault(keep)];
  ofOrganisations = [await fillOrganisation(keep), await fillOrganisation(keep)];
  await keep.database.asOwner((transaction) => transaction.query({ text: "ANALYZE" }));
  await keep[Symbol.asyncDispose]();
  node = await startServingNode(databaseUrl, keep.key, withoutRateLimits);
  stack.defer(() => node.stop());
}, 600_000);
afterAll(() => stack.disposeAsync());

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function addSecrets(person: Teammate, vault: string): Promise<void> {
  const operations = Array.from({ length: secrets }, (_, number) => ({
    op: "put",
    path: `/bench/secret-${number}`,
    value: `value of ${number} ${"x".repeat(40)}`,
  }));
  for (let from = 0; from < secrets; from += 100)
    await succeed(person, "POST", `${vault}/batch`, { operations: operations.slice(from, from + 100) });
}

async function fillPersonalVault(keep: TestKeep): Promise<Readable> {
  const person = await addTeammate(keep);
  const vault = `/api/secrets/vaults/${person.vaultId}`;
  await addSecrets(person, vault);
  const session: Request["headers"][] = [];
  const token: Request["headers"][] = [];
  for (let reader = 0; reader < readers; reader += 1) {
    const { text } = await addSession(keep, person, "1 minute");
    session.push({ ...person.headers, cookie: `session=${text}` });
    token.push(bearer((await keep.addToken(person, { scopes: ["secrets:read"] })).text));
  }
  return { vault, session, token };
}

async function fillOrganisation(keep: TestKeep): Promise<Readable> {
  const acme = await createOrganisation(keep);
  const people: Teammate[] = [];
  for (let reader = 0; reader < readers; reader += 1) people.push(await acme.add());
  const paths: string[] = [];
  while (paths.length < vaults) paths.push(await createVault(acme.owner, acme.organisation));
  const [vault = ""] = paths;
  await addSecrets(acme.owner, vault);
  const token: Request["headers"][] = [];
  for (const person of people) {
    const { value } = await addMemberToken(person, acme.organisation, { scopes: ["secrets:read"] });
    token.push(bearer(value));
  }
  await fillMembers(keep, acme);
  await fillGrants(keep, acme, { people, vaultIds: paths.map(idOf) });
  return { vault, session: people.map(({ headers }) => headers), token };
}

/** Members without accounts of their own, which nothing reads; all are in some teams. */
async function fillMembers({ database }: TestKeep, { accountId }: TestOrganisation): Promise<void> {
  await database.inAccount(accountId, async (transaction) => {
    const run = (text: string, values: readonly unknown[]) =>
      transaction.query({ text, values: [accountId, ...values] });
    await run(
      "INSERT INTO team (id, account_id, name) SELECT gen_random_uuid(), $1, 'Team ' || number FROM generate_series(1, $2::int) AS number",
      [teams],
    );
    await run(
      "INSERT INTO member (person_id, account_id, role) SELECT gen_random_uuid(), $1, 'member' FROM generate_series((SELECT count(*) FROM member WHERE account_id = $1) + 1, $2::int)",
      [members],
    );
    await run(
      "INSERT INTO member_route (person_id, account_id) SELECT person_id, account_id FROM member WHERE account_id = $1 ON CONFLICT DO NOTHING",
      [],
    );
    await run(
      "UPDATE member SET team_ids = (SELECT array_agg(id) FROM (SELECT id FROM team WHERE account_id = $1 ORDER BY hashtext(team.id::text || member.person_id::text) LIMIT $2) AS chosen) WHERE account_id = $1",
      [teamsEach],
    );
  });
}

type Filled = { readonly people: readonly Teammate[]; readonly vaultIds: readonly string[] };

/** Half of them to teams, some limited to paths; the readers read the first vault, half of them by a team. */
async function fillGrants(
  keep: TestKeep,
  { accountId }: TestOrganisation,
  { people, vaultIds }: Filled,
): Promise<void> {
  const list = (text: string) =>
    keep.database.inAccount(accountId, (transaction) =>
      transaction.query<{ id: string; team: string }>({ text, values: [accountId] }),
    );
  const memberRows = await list(
    "SELECT person_id AS id, team_ids[1] AS team FROM member WHERE account_id = $1 ORDER BY person_id",
  );
  const teamOf = new Map(memberRows.map(({ id, team }) => [id, team]));
  const holderOf = (number: number): VaultGrant["holder"] => {
    const { id = "", team = "" } = memberRows[number % memberRows.length] ?? {};
    return number % 2 === 0 ? { type: "person", id } : { type: "team", id: team };
  };
  const toReaders = people.map((person, index) =>
    grantTo(
      index % 2 === 0 ? personHolder(person) : { type: "team", id: teamOf.get(person.accountId) ?? "" },
      null,
    ),
  );
  const each = grants / vaultIds.length;
  const ofVaults = vaultIds.map((vaultId, vault) => {
    const first = vault === 0 ? toReaders : [];
    const others = Array.from({ length: each - first.length }, (_, number) =>
      grantTo(holderOf(vault * each + number), number % 3 === 0 ? [`/team-${number}/**`] : null),
    );
    return [vaultId, [...first, ...others]] as const;
  });
  await storeGrants(keep, accountId, new Map(ofVaults));
}

function grantTo(holder: VaultGrant["holder"], paths: VaultGrant["paths"]): VaultGrant {
  const created = { createdAt: "2026-01-01T00:00:00.000Z", createdBy: `person:${generateId()}` };
  return { id: generateId(), holder, role: "reader", paths, ...created };
}

const addresses = {
  "value read": (number: number) => `/values/by-path/bench/secret-${number % secrets}`,
  list: () => "/secrets?path=/bench&limit=50",
} as const;

type Action = keyof typeof addresses;

/** Of all readers of all vaults in turn. */
function requestsOf(
  readable: readonly Readable[],
  credential: Credential,
  action: Action,
): readonly Request[] {
  return Array.from({ length: secrets }, (_, number) =>
    readable.flatMap(({ vault, [credential]: headers }) => {
      const chosen = headers[number % headers.length];
      return chosen === undefined ? [] : [{ path: vault + addresses[action](number), headers: chosen }];
    }),
  ).flat();
}

/** The 99th percentile, in milliseconds; the median is collected. */
async function measure(requests: readonly Request[], middles: number[]): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const times: number[] = [];
  const endsAt = performance.now() + seconds * 1000;
  const send = async (first: number): Promise<void> => {
    for (let number = first; performance.now() < endsAt; number += connections) {
      const request = requests[number % requests.length];
      if (request === undefined) throw new Error("Expected requests");
      const startedAt = performance.now();
      await sendRequest(agent, request);
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, index) => send(index)));
  agent.destroy();
  middles.push(median(times));
  return percentile(times, 0.99);
}

function sendRequest(agent: Agent, { path, headers }: Request): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get(new URL(path, node.url), { agent, headers }, (response) => {
      response.resume();
      response.on("error", reject);
      response.on("end", () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`${path} returned ${response.statusCode}`));
      });
    });
    request.on("error", reject);
  });
}

const against = (both: readonly number[]) => both.map((time) => `${time.toFixed(2)} ms`).join(" against ");

const cases = (["token", "session"] as const).flatMap((credential) =>
  (["value read", "list"] as const).map((action) => ({ credential, action })),
);

test.for(cases)(
  "a $action with the $credential of a member of a large organisation is about as fast as in one's own account",
  {
    timeout: 900_000,
  },
  async ({ credential, action }) => {
    const [ours, theirs]: [number[], number[]] = [[], []];
    const { ratio, medians } = await compareInTurns({
      name: `keep-teams-${action.replace(" ", "-")}-${credential}`,
      ours: {
        name: "organisations",
        measure: () => measure(requestsOf(ofOrganisations, credential, action), ours),
      },
      theirs: {
        name: "one person",
        measure: () => measure(requestsOf(ofPerson, credential, action), theirs),
      },
      turns,
    });
    const times = `${against(medians)}; p50 ${against([median(ours), median(theirs)])}`;
    const text = `${organisations} organisations of ${members} members, ${teams} teams and ${grants} grants: p99 of a ${action} with a ${credential} ${ratio.toFixed(2)} of the same in a person's own account (${times}), needed at most ${needed}`;
    recordFigure({
      claim: "teams 5",
      text,
      counted: { reached: ofOrganisations.length, needed: organisations },
    });
    expect(ratio, text).toBeLessThanOrEqual(upperBound(needed));
  },
);
