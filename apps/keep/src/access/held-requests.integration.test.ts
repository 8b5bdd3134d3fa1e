import { request as openRequest } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  addMemberToken,
  createOrganisation,
  createVault,
  idOf,
  personHolder,
  share,
  statusOf,
  succeed,
  type TestOrganisation,
} from "../organisations/test/shared-vault.ts";
import type { Teammate } from "../organisations/test/start-team.ts";
import { startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";

/** Longer than a body may take without a second look, with time for the first one. */
const heldMilliseconds = 700;

let keep: TestKeep;
beforeAll(async () => {
  keep = await startUnlimitedKeep();
});
afterAll(() => keep[Symbol.asyncDispose]());

type Headers = Readonly<Record<string, string>>;
type HeldRequest = readonly [method: string, path: string, body: object];

/** Sends all but the last byte; the result sends that one too, and returns the status. */
function hold([method, path, body]: HeldRequest, headers: Headers): () => Promise<number> {
  const text = JSON.stringify(body);
  const length = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  const sent = openRequest(new URL(path, keep.url), { method, headers: { ...headers, ...length } });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  sent.once("error", reject).once("response", (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  sent.write(text.slice(0, -1));
  return () => {
    sent.end(text.slice(-1));
    return promise;
  };
}

type Scene = {
  readonly acme: TestOrganisation;
  readonly person: Teammate;
  readonly accomplice: Teammate;
  readonly vault: string;
};

/** What an owner who manages a vault would do last, to stay or to leave somebody behind. */
const lastRequests = ({ acme: { organisation }, accomplice, vault }: Scene): readonly HeldRequest[] => [
  ["PUT", `${vault}/secrets/by-path/KEY`, { value: "mine" }],
  [
    "POST",
    `${organisation}/tokens`,
    { for: "organisation", name: "stays", scopes: ["secrets:read"], vault_ids: [idOf(vault)] },
  ],
  ["POST", `${organisation}/invitations`, { role: "owner" }],
  ["PATCH", `${organisation}/members/${accomplice.accountId}`, { role: "owner" }],
  ["POST", `${vault}/grants`, { holder: personHolder(accomplice), role: "manager" }],
];

async function setScene(): Promise<Scene> {
  const acme = await createOrganisation(keep);
  const [person, accomplice] = [await acme.add("owner"), await acme.add()];
  const vault = await createVault(acme.owner, acme.organisation);
  await share(acme.owner, vault, { holder: personHolder(person), role: "manager" });
  return { acme, person, accomplice, vault };
}

test("a request that is held back until its sender was removed has no effect, and otherwise its own", async () => {
  const statuses = new Map<boolean, readonly number[]>();
  for (const isRemoved of [false, true]) {
    const scene = await setScene();
    const { acme, person } = scene;
    const finish = lastRequests(scene).map((request) => hold(request, person.headers));
    await sleep(heldMilliseconds);
    const member = `${acme.organisation}/members/${person.accountId}`;
    if (isRemoved) await succeed(acme.owner, "DELETE", member);
    statuses.set(isRemoved, await Promise.all(finish.map((send) => send())));
  }
  expect(statuses.get(false)).toEqual([201, 201, 201, 204, 201]);
  expect(statuses.get(true)).toEqual([404, 404, 404, 404, 404]);
});

test("a request that is held back until its token was revoked, or its sender demoted, is refused", async () => {
  const scene = await setScene();
  const { acme, person, vault } = scene;
  const token = { scopes: ["secrets:write"] } as const;
  const { id, value } = await addMemberToken(person, acme.organisation, token);
  const write = (name: string): HeldRequest => ["PUT", `${vault}/secrets/by-path/${name}`, { value: "x" }];
  const ofToken = hold(write("A"), { authorization: `Bearer ${value}` });
  const ofSession = hold(write("B"), person.headers);
  const invitation = hold(["POST", `${acme.organisation}/invitations`, { role: "owner" }], person.headers);
  await sleep(heldMilliseconds);
  expect(await statusOf(person, "DELETE", `${acme.organisation}/tokens/${id}?wait=all`)).toBe(204);
  const role = { role: "member" };
  expect(await statusOf(acme.owner, "PATCH", `${acme.organisation}/members/${person.accountId}`, role)).toBe(
    204,
  );
  expect([await ofToken(), await ofSession(), await invitation()]).toEqual([401, 201, 403]);
});
