import { chooseSize, recordFigure, scale } from "@hearth-and-keep/figures";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addSession } from "../../access/test/fixture.ts";
import { pathMatcher, patternsCover } from "../../authorization/path-patterns.ts";
import { routes } from "../../routes.ts";
import { startUnlimitedKeep } from "../../test/open-vault.ts";
import { type Random, seededRandom } from "../../test/seeded-random.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import {
  type Answer,
  approve,
  changeTogether,
  expectOk,
  startTeam,
  type Team,
  vaultIdOf,
} from "./test/fixture.ts";
import { freePath, requestsByRoute, routesWithoutContents, type Target } from "./test/route-requests.ts";

const sequences = chooseSize({ ci: 3, show: 40, nightly: 1000 });
const requestsPerSequence = 30;
const timeout = scale === "nightly" ? 3_600_000 : 400_000;
/** Of each route, with different requests. */
const attempts = chooseSize({ ci: 2, show: 12, nightly: 50 });
const environments = ["dev", "prod"];
const secretPaths = [
  "/base/K1",
  "/base/api/K2",
  "/prod/K1",
  "/prod/api/K3",
  "/dev/K1",
  "/other/K4",
  freePath,
];
const patterns = [
  "/prod/**",
  "/prod/*",
  "/*/K1",
  "/other/K4",
  "/prod/api/*",
  "/dev/api/K2",
  "/base/**",
  "/**",
];

let keep: TestKeep;
let team: Team;
beforeAll(async () => {
  keep = await startUnlimitedKeep();
  team = await startTeam(keep);
});
afterAll(() => keep[Symbol.asyncDispose]());

const writeRoutes = routes
  .filter(({ method }) => method !== "GET")
  .map(({ method, path }) => `${method} ${path}`);

test("every write route has requests for this test, or reaches no contents of a vault", () => {
  expect([...Object.keys(requestsByRoute), ...routesWithoutContents].toSorted()).toEqual(
    writeRoutes.toSorted(),
  );
});

type FilledVault = { readonly vault: string; readonly targets: readonly Target[] };

const put = (path: string, value: string) => ({ op: "put", path, value, tags: ["first"], note: "note" });

/** A vault with environments, and secrets with two versions and a deleted secret beside each; nothing is protected. */
async function fillVault(owners: Team): Promise<FilledVault> {
  const vault = await owners.createVault();
  await expectOk(owners.send("PATCH", vault, { environments, base: "/base" }));
  const apply = async (operations: readonly object[]) =>
    (await expectOk(owners.send("POST", `${vault}/batch`, { operations }))).results;
  await apply(secretPaths.map((path) => put(path, "first")));
  const live = await apply(secretPaths.map((path) => put(path, `value of ${path}`)));
  const deleted = await apply(secretPaths.map((path) => put(`${path}_GONE`, "deleted")));
  await apply(secretPaths.map((path) => ({ op: "delete", path: `${path}_GONE` })));
  const change = await proposeHarmless(owners, vault);
  const targets = secretPaths.map((path, index) => ({
    vault,
    path,
    id: live[index]?.secret.id ?? "",
    deletedId: deleted[index]?.secret.id ?? "",
    change,
    name: owners.name,
  }));
  return { vault, targets };
}

async function proposeHarmless(owners: Team, vault: string): Promise<string> {
  const operations = [{ op: "put", path: "/free/HARMLESS", value: "x" }];
  const { id } = await expectOk(owners.send("POST", `${vault}/changes`, { reason: "Harmless", operations }));
  return id;
}

/** Sends the request as the first person: with a token of every scope, or, where only people may, a session. */
async function sendRoute(
  owners: Team,
  [route, target]: readonly [string, Target],
  random: Random,
): Promise<Answer> {
  const [method = "", path = ""] = route.split(" ");
  const { query = "", body } = requestsByRoute[route]?.(target, random) ?? {};
  const secret = route.endsWith("secrets/:secret/restore") ? target.deletedId : target.id;
  const values: Readonly<Record<string, string>> = {
    vault: vaultIdOf(target.vault),
    secret,
    version: "1",
    change: target.change,
    organisation: owners.organisation,
  };
  const url = path
    .replaceAll(/:(\w+)/gu, (_whole, name: string) => values[name] ?? name)
    .replace("/*", target.path);
  if (!path.startsWith("/api/organisations")) return owners.send(method, url + query, body);
  const person = { accountId: owners.people[0], identityId: owners.identity, vaultId: "" };
  const session = await addSession(keep, person, "1 minute");
  const response = await keep.request(url, {
    method,
    headers: { cookie: `session=${session.text}`, "sec-fetch-site": "same-origin" },
    body,
  });
  const text = await response.text();
  // Only the status and the code are compared.
  return { status: response.status, body: JSON.parse(text === "" ? "null" : text) as Answer["body"] };
}

/** Everything about the secrets at protected paths, deleted ones too, and what these paths resolve to. */
async function readProtected(vault: string, protectedPaths: readonly string[]): Promise<object> {
  const matches = pathMatcher(protectedPaths);
  const get = (path: string) => expectOk(team.send("GET", vault + path));
  const { items: live } = await get("/secrets?recursive=true&limit=200");
  const { items: deleted } = await get("/secrets?recursive=true&limit=200&state=deleted");
  const secrets = await Promise.all(
    live
      .filter(({ path }) => matches(path))
      .map(async (metadata) => {
        const { items: versions } = await get(`/secrets/${metadata.id}/versions`);
        const contents = versions.map(async ({ version }) => {
          const { status, body } = await team.send(
            "GET",
            `${vault}/secrets/${metadata.id}/value?version=${version}`,
          );
          return { version, status, value: body.value, note: body.note };
        });
        return { metadata, versions, contents: await Promise.all(contents) };
      }),
  );
  const effective: object[] = [];
  for (const name of environments) {
    const { status, body } = await team.send(
      "GET",
      `${vault}/values?path=/${name}&recursive=true&inherit=true`,
    );
    // The setting may have been removed where it does not concern anything protected.
    const { body: own } = await team.send("GET", `${vault}/values?path=/${name}&recursive=true`);
    for (const { path, value } of (status === 200 ? body : own).items)
      if (matches(path)) effective.push({ path, value });
  }
  return { secrets, deleted: deleted.filter(({ path }) => matches(path)), effective };
}

async function expectKept(vault: string, protectedPaths: readonly string[], before: object): Promise<void> {
  const settings = await expectOk(team.send("GET", vault));
  expect(patternsCover(settings.protected_paths, protectedPaths)).toBe(true);
  expect(await readProtected(vault, protectedPaths)).toEqual(before);
}

/** What routes answer for a protected target, if not "approval_required". */
const allowedRoutes: Readonly<Record<string, string>> = {
  "POST /api/secrets/vaults/:vault/folders": "changes no secret",
  "POST /api/secrets/vaults/:vault/rotate-key": "changes no content",
  "POST /api/secrets/vaults/:vault/changes": "takes no effect",
  "DELETE /api/secrets/vaults/:vault/changes/:change": "takes no effect",
};
const forPeople: readonly string[] = [
  "POST /api/secrets/vaults/:vault/changes/:change/approve",
  "POST /api/secrets/vaults/:vault/changes/:change/reject",
  "POST /api/secrets/vaults/:vault/transfer",
];

test("each write route is refused for a protected secret, and changes an unprotected one", {
  timeout,
}, async () => {
  let refused = 0;
  for (const route of Object.keys(requestsByRoute)) {
    // An organisation has at most 100 vaults.
    const owners = await startTeam(keep);
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const random = () => seededRandom(attempt * 7919 + route.length);
      const twin = await fillVault(owners);
      const guarded = await fillVault(owners);
      const [inTwin, target] = [twin, guarded].map(({ targets }) =>
        targets.find(({ path }) => path === "/prod/K1"),
      );
      if (inTwin === undefined || target === undefined) throw new Error("There is no such target");
      await expectOk(owners.send("PATCH", guarded.vault, { protected_paths: ["/prod/**"] }));
      if (route.endsWith(":vault/restore")) {
        await changeTogether(owners, guarded.vault, { delete_vault: true });
        await expectOk(owners.send("DELETE", twin.vault));
      }
      const { status, body } = await sendRoute(owners, [route, target], random());
      const isAllowed = Object.hasOwn(allowedRoutes, route);
      const expected = forPeople.includes(route)
        ? [403, "session_required"]
        : route.startsWith("DELETE /api/organisations")
          ? [409, "conflict"]
          : [409, "approval_required"];
      const outcome = isAllowed ? [status < 300] : [status, body?.code];
      expect([route, ...outcome]).toEqual([route, ...(isAllowed ? [true] : expected)]);
      if (!isAllowed) refused += 1;
      if (forPeople.includes(route) || route.startsWith("DELETE /api/organisations")) continue;
      const { status: ofTwin } = await sendRoute(owners, [route, inTwin], random());
      expect([route, ofTwin < 300]).toEqual([route, true]);
    }
  }
  expect(refused).toBeGreaterThanOrEqual(attempts * 18);
});

test("no sequence of requests by one person changes what is protected, or its protection", {
  timeout,
}, async () => {
  const names = Object.keys(requestsByRoute).filter(
    (route) => !route.startsWith("DELETE /api/organisations"),
  );
  const counts = { requests: 0, refused: 0, succeeded: 0, twins: 0 };
  for (let seed = 1; seed <= sequences; seed += 1) {
    const random = seededRandom(seed);
    team = await startTeam(keep);
    const { vault, targets } = await fillVault(team);
    const { vault: twinVault, targets: twins } = await fillVault(team);
    const chosen = [...new Set([random.pick(patterns), random.pick(patterns)])];
    await expectOk(team.send("PATCH", vault, { protected_paths: chosen }));
    const before = await readProtected(vault, chosen);
    for (let step = 0; step < requestsPerSequence; step += 1) {
      const route = random.pick(names);
      const index = random.between(0, targets.length - 1);
      const requestSeed = random.between(0, 1_000_000);
      const [target, twin] = [targets[index], twins[index]];
      if (target === undefined || twin === undefined) throw new Error("There is no such target");
      const { status, body } = await sendRoute(team, [route, target], seededRandom(requestSeed));
      expect([seed, step, route, status < 500]).toEqual([seed, step, route, true]);
      counts.requests += 1;
      if (body?.code === "approval_required") {
        counts.refused += 1;
        // The same request where nothing is protected.
        const ofTwin = await sendRoute(team, [route, twin], seededRandom(requestSeed));
        if (ofTwin.status < 300) counts.twins += 1;
        if (ofTwin.body?.code === "approval_required") await expectProtected(twinVault);
      } else if (status < 300) counts.succeeded += 1;
      await approveAlone(vault);
    }
    await expectKept(vault, chosen, before);
    expect((await team.send("GET", twinVault)).status).toBeLessThan(500);
  }
  expect(counts.succeeded).toBeGreaterThan(sequences);
  expect(counts.twins).toBeGreaterThan(sequences);
  recordFigure({
    claim: "teams 8",
    text: `${counts.requests} requests in ${sequences} sequences over ${names.length} of ${names.length} write routes that reach a vault, by one person with every permission: nothing protected changed, ${counts.refused} refused, of which ${counts.twins} succeed on an unprotected twin`,
    counted: { reached: counts.requests, needed: sequences * requestsPerSequence },
  });
});

/** An earlier request has protected something in the vault. */
async function expectProtected(vault: string): Promise<void> {
  expect((await expectOk(team.send("GET", vault))).protected_paths).not.toEqual([]);
}

/** The first person tries to approve what they have proposed. The vault may be deleted. */
async function approveAlone(vault: string): Promise<void> {
  const { status, body } = await team.send("GET", `${vault}/changes`);
  const [first] = team.people;
  for (const { id, fingerprint } of status === 200 ? body.items.slice(0, 1) : [])
    await expect(
      approve(team, { actor: team.actor(first), vault, change: id }, fingerprint),
    ).rejects.toMatchObject({ failure: { kind: "second-person-required" } });
}

test("a change of a protected vault that a second person approves has the effect of the same batch, once", {
  timeout,
}, async () => {
  const random = seededRandom(8);
  const rounds = chooseSize({ ci: 5, show: 30, nightly: 300 });
  for (let round = 0; round < rounds; round += 1) {
    if (round % 20 === 0) team = await startTeam(keep);
    const [{ vault }, { vault: twin }] = [await fillVault(team), await fillVault(team)];
    const chosen = [random.pick(patterns)];
    await expectOk(team.send("PATCH", vault, { protected_paths: chosen }));
    const free = [...secretPaths];
    const operations = Array.from({ length: random.between(1, 4) }, (_, index) => {
      const path = free.splice(random.between(0, free.length - 1), 1)[0] ?? "";
      return random.pick<object>([
        { op: "put", path, value: `round ${round}`, tags: ["approved"] },
        { op: "delete", path },
        { op: "move", path, to: `/prod/MOVED_${index}` },
        { op: "put", path: `${path}_ADDED`, value: "added" },
      ]);
    });
    await expectOk(team.send("POST", `${twin}/batch`, { operations }));
    const change = await changeTogether(team, vault, { operations });
    const [, second] = team.people;
    await expect(
      approve(team, { actor: team.actor(second), vault, change: change.id }, change.fingerprint),
    ).rejects.toMatchObject({ failure: { kind: "conflict" } });
    expect(await describeContents(vault)).toEqual(await describeContents(twin));
  }
  expect(rounds).toBeGreaterThan(0);
});

/** Without what differs between two vaults: ids, revisions and times. */
async function describeContents(vault: string): Promise<readonly object[]> {
  const { items } = await expectOk(team.send("GET", `${vault}/secrets?recursive=true&limit=200`));
  return Promise.all(
    items.map(async ({ id, path, tags, version, type, size }) => {
      const { value, note } = await expectOk(team.send("GET", `${vault}/secrets/${id}/value`));
      return { path, tags, version, type, size, value, note };
    }),
  );
}
