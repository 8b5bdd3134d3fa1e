import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generateId, isId } from "../generate-id.ts";
import { type KeepRoute } from "../route-row.ts";
import { routes } from "../routes.ts";
import { fillPath } from "./test/example-requests.ts";
import type { Objects } from "./test/fixture.ts";
import { labelOf, listCases, type TeamCase } from "./test/team-cases.ts";
import {
  type Cells,
  type Expectation,
  expectOfForeign,
  expectOfMissing,
  expectOfOldSignIn,
  expectOfOtherPath,
  expectOfOtherSite,
  expectOfOtherVault,
  expectOfRemoved,
  isSuccess,
  isToken,
  parseTable,
  renderRow,
} from "./test/team-expectations.ts";
import {
  addAsMember,
  type Credentials,
  createTestOrganisation,
  nextAddress,
  type Principal,
  type PrincipalName,
  principalNames,
  request,
  startOrganisation,
  startTeam,
  type TestTeam,
} from "./test/team-fixture.ts";
import { createTarget, type Target } from "./test/team-objects.ts";

const reviewed = parseTable(
  readFileSync(new URL("fixtures/team-authorization-table.md", import.meta.url), "utf8"),
);
const cases = listCases(routes);
const maxTries = 50;
const minRequests = chooseSize({ ci: 1500, show: 10_000, nightly: 10_000 });
/** In CI, each variant has only some of the cases. */
const sampling = chooseSize({ ci: 12, show: 1, nightly: 1 });

let team: TestTeam;
let base: Target;
let requests = 0;
const mistakes: string[] = [];

beforeAll(async () => {
  team = await startTeam();
  base = await createTarget(team.organisation, "A", "/app");
}, 120_000);
afterAll(() => team?.[Symbol.asyncDispose]());

type Observed = { readonly outcome: string; readonly content: string; readonly id: string };

async function send(teamCase: TeamCase, target: Target, credentials: Credentials): Promise<Observed> {
  const { method, path, query, body } = teamCase;
  const { folder, objects, organisation } = target;
  const secretPath = (teamCase.secretPath?.(target) ?? `${folder}/key`).slice(1);
  const address = fillPath(path.replace("*", "SECRET-PATH"), objects).replace("SECRET-PATH", secretPath);
  const sendOnce = () =>
    organisation.keep.request(address + (query?.(target) ?? ""), {
      method,
      headers: { "x-forwarded-for": nextAddress(), ...credentials },
      ...(body === undefined ? {} : { body: body(target) }),
    });
  let response = await sendOnce();
  // Logs that were not read to their end may still use the connections of the account, which says nothing about rights.
  for (let tries = 1; response.status === 503 && tries < maxTries; tries += 1) {
    await response.body?.cancel();
    await sleep(200);
    response = await sendOnce();
  }
  requests += 1;
  const requestId = response.headers.get("x-request-id") ?? "";
  const isLog = response.ok && path.endsWith("/audit/export");
  // Large, and without values.
  if (isLog) await response.body?.cancel();
  const text = isLog ? "" : await response.text();
  const isExport = response.ok && path.endsWith("/export");
  const isJson = response.headers.get("content-type")?.includes("json") === true && text.startsWith("{");
  const parsed: unknown = isJson && !isExport ? JSON.parse(text) : {};
  // Bodies of the contract, or a problem document.
  const { id = "", code, error } = parsed as Record<string, string | undefined>;
  const outcome = response.ok ? String(response.status) : (code ?? error ?? String(response.status));
  return { outcome, id, content: `${response.status} ${text.replaceAll(requestId, "REQUEST-ID")}` };
}

const routeOf = ({ method, path }: TeamCase): KeepRoute => {
  const route = routes.find((each) => each.method === method && each.path === path);
  if (route === undefined) throw new Error(`No such route: ${method} ${path}`);
  return route;
};

const readers: ReadonlySet<PrincipalName> = new Set([
  "owner",
  "reader",
  "editor",
  "manager",
  "team editor",
  "organisation token",
  "own token",
]);
const pathReaders: ReadonlySet<PrincipalName> = new Set(["path reader", "path manager"]);
let areGrantsRemoved = false;

/** Which values a response reveals that the principal may not read, independently of the implementation. */
function findRevealed(name: PrincipalName, content: string): readonly string[] {
  const found = content.matchAll(/value-of (?<organisation>\S+) (?<vault>\S+) (?<path>\S+) end-of-value/gu);
  return [...found].flatMap(({ groups }) => {
    const { organisation, vault, path } = groups ?? {};
    const isInVault = organisation === team.organisation.id && vault === "A" && !areGrantsRemoved;
    const isAllowed = readers.has(name) || (pathReaders.has(name) && path?.startsWith("/app/") === true);
    return isInVault && isAllowed ? [] : [`${vault} ${path}`];
  });
}

type Variant = {
  readonly name: string;
  readonly target: (teamCase: TeamCase) => Promise<Target>;
  readonly expected: (expectation: Expectation) => string;
  readonly credentials?: (principal: Principal) => Credentials | undefined;
  readonly includes?: (teamCase: TeamCase) => boolean;
};

/** Requests each case as each principal; returns what each got. */
async function observe(variant: Variant): Promise<ReadonlyMap<string, Cells>> {
  const { credentials: credentialsOf = ({ credentials }: Principal) => credentials } = variant;
  const rows = new Map<string, Cells>();
  for (const teamCase of cases.filter(variant.includes ?? (() => true))) {
    let target = await variant.target(teamCase);
    const observed: Partial<Record<PrincipalName, string>> = {};
    for (const name of principalNames) {
      const credentials = credentialsOf(team.principals[name]);
      if (credentials === undefined) continue;
      const used = teamCase.isFinal ? await withOwnOrganisation(target, team.principals[name]) : target;
      const { outcome, content, id } = await send(teamCase, used, credentials);
      observed[name] = outcome;
      for (const value of findRevealed(name, content))
        mistakes.push(`${variant.name}: ${labelOf(teamCase)} reveals ${value} to ${name}`);
      if (!isSuccess(outcome)) continue;
      if (id !== "" && !isPersonal(teamCase, name)) await teamCase.undo?.(target, id);
      target = (await teamCase.renew?.(target)) ?? target;
    }
    if (isId(target.objects.vault)) await teamCase.finish?.(target);
    // Complete, or compared only as far as it is.
    rows.set(labelOf(teamCase), observed as Cells);
  }
  return rows;
}

/** What sessions create outside of organisations is their own. */
function isPersonal({ path }: TeamCase, name: PrincipalName): boolean {
  return !path.includes("/organisations/") && (!isToken(name) || name === "exchanged token");
}

/** Another organisation, in which the person has the same role. */
async function withOwnOrganisation(target: Target, { person, role }: Principal): Promise<Target> {
  if (person === undefined || role === undefined || target !== base) return target;
  const { keep, steward } = team.organisation;
  const id = await createTestOrganisation(keep, steward);
  await addAsMember({ keep, id }, person.accountId, role);
  return { ...target, objects: { ...target.objects, organisation: id } };
}

/** Compares with what follows from the reviewed table. Returns what differs. */
async function compare(variant: Variant): Promise<readonly string[]> {
  const before = mistakes.length;
  for (const [label, observed] of await observe(variant)) {
    const cells = reviewed.get(label);
    const teamCase = cases.find((each) => labelOf(each) === label);
    if (cells === undefined || teamCase === undefined) throw new Error(`${label} is not in the table`);
    for (const name of principalNames) {
      if (observed[name] === undefined) continue;
      const expected = variant.expected({ teamCase, route: routeOf(teamCase), cells, name });
      if (observed[name] !== expected)
        mistakes.push(`${variant.name}: ${label} as ${name}: ${observed[name]} instead of ${expected}`);
    }
  }
  return mistakes.slice(before);
}

const inSample = (index: number) => (teamCase: TeamCase) =>
  cases.indexOf(teamCase) % sampling === index % sampling;
const hasParameter = ({ path }: TeamCase): boolean => path.includes(":");
const isInVault = ({ path }: TeamCase): boolean => /:(?:vault|operation)/u.test(path);
/** Takes long in a vault with many secrets. */
const isRotation = ({ path }: TeamCase): boolean => path.endsWith("/rotate-key");
const isForeignCase = (teamCase: TeamCase) => hasParameter(teamCase) && inSample(2)(teamCase);
const renewed = (target: Target) => async (teamCase: TeamCase) => (await teamCase.renew?.(target)) ?? target;
const renewedUnlessFinal = (teamCase: TeamCase) =>
  teamCase.isFinal ? Promise.resolve(base) : renewed(base)(teamCase);

test("every request for an organisation or a vault gets what the reviewed table says, for every principal", {
  timeout: 600_000,
}, async () => {
  const observed = await observe({ name: "reviewed", target: renewedUnlessFinal, expected: () => "" });
  // A row without cells differs from every reviewed row.
  const rows = cases.map((each) => renderRow(each, observed.get(labelOf(each)) ?? ({} as Cells)));
  const expected = [...reviewed].map(([label, cells]) => {
    const teamCase = cases.find((each) => labelOf(each) === label);
    return teamCase === undefined ? `${label} is no request of this test` : renderRow(teamCase, cells);
  });
  expect(rows.toSorted()).toEqual(expected.toSorted());
  expect(mistakes).toEqual([]);
});

test("who signed in an hour ago is asked to sign in again for what needs it, and gets the same otherwise", {
  timeout: 600_000,
}, async () => {
  const differences = await compare({
    name: "signed in an hour ago",
    target: renewed({ ...base }),
    expected: expectOfOldSignIn,
    credentials: ({ oldCredentials }) => oldCredentials,
    includes: inSample(0),
  });
  expect(differences).toEqual([]);
});

test("pages of other sites cannot use a session", { timeout: 600_000 }, async () => {
  const differences = await compare({
    name: "from another site",
    target: async () => ({ ...base }),
    expected: expectOfOtherSite,
    credentials: ({ person, credentials }) =>
      person === undefined ? undefined : { ...credentials, "sec-fetch-site": "cross-site" },
    includes: inSample(1),
  });
  expect(differences).toEqual([]);
});

test("objects of another organisation look exactly like missing ones", { timeout: 600_000 }, async () => {
  const other = await startOrganisation(team.organisation.keep);
  const created = await createTarget(other, "A", "/app");
  const foreign = { ...base, objects: created.objects, folder: created.folder };
  const names = Object.keys(base.objects);
  const objectsOf = (value: () => string) =>
    // The same members.
    Object.fromEntries(names.map((name) => [name, name === "version" ? "1" : value()])) as Objects;
  const missing = { ...foreign, objects: objectsOf(generateId) };
  // The body of a new grant must still be valid.
  const objects = { ...objectsOf(() => "no-such-thing"), person: generateId() };
  const malformed = { ...foreign, objects };
  const differences: string[] = [];
  for (const [name, target] of Object.entries({ foreign, missing, malformed }))
    differences.push(
      ...(await compare({
        name,
        target: async () => ({ ...target }),
        expected: expectOfForeign,
        includes: isForeignCase,
      })),
    );
  for (const teamCase of cases.filter(isForeignCase)) {
    for (const name of principalNames) {
      const { credentials } = team.principals[name];
      const [one, two] = [
        await send(teamCase, foreign, credentials),
        await send(teamCase, missing, credentials),
      ];
      if (one.content !== two.content) differences.push(`${labelOf(teamCase)} as ${name} tells them apart`);
    }
  }
  expect(differences).toEqual([]);
});

test("what does not exist in a known vault or organisation is not found", { timeout: 600_000 }, async () => {
  const { organisation, vault } = base.objects;
  const names = Object.keys(base.objects);
  // The same members.
  const missing = Object.fromEntries(names.map((name) => [name, generateId()])) as Objects;
  const objects = { ...missing, organisation, vault, version: "1" };
  const differences = await compare({
    name: "missing in a known one",
    target: async () => ({ ...base, objects, folder: `/app/missing-${generateId()}` }),
    expected: expectOfMissing,
    includes: (teamCase) =>
      /:(?:secret|token|team|person|invitation|grant|operation|rule)|by-path/u.test(teamCase.path) &&
      teamCase.method !== "PUT" &&
      teamCase.note !== "of another member",
  });
  expect(differences).toEqual([]);
});

test("in a vault without a grant, everybody gets what their role allows", { timeout: 600_000 }, async () => {
  const target = await createTarget(team.organisation, "B", "/app");
  const differences = await compare({
    name: "other vault",
    target: renewed(target),
    expected: expectOfOtherVault,
    includes: (teamCase) => isInVault(teamCase) && inSample(3)(teamCase),
  });
  expect(differences).toEqual([]);
});

const roots = ["/app/deeper/still", "/other", "/application", "/App", "/elsewhere/app"];

test.each(roots)(
  "a grant for /app/** decides alike everywhere inside and outside: %s",
  { timeout: 600_000 },
  async (root) => {
    const target = await createTarget(team.organisation, "A", root);
    const isInside = root.startsWith("/app/");
    const index = roots.indexOf(root);
    const differences = await compare({
      name: root,
      target: renewed(target),
      expected: isInside ? ({ cells, name }) => cells[name] : expectOfOtherPath,
      includes: (teamCase) =>
        (isInVault(teamCase) || /organisation\/tokens/u.test(teamCase.path)) &&
        !isRotation(teamCase) &&
        inSample(index)(teamCase),
    });
    expect(differences).toEqual([]);
  },
);

test("nothing is left of a right once it was removed", { timeout: 600_000 }, async () => {
  await removeRights();
  areGrantsRemoved = true;
  const { organisation, principals } = team;
  const vault = `/api/secrets/vaults/${organisation.vaults.A}`;
  const useOwnToken = () =>
    organisation.keep.request(vault, { headers: principals["own token"].credentials });
  // Other nodes, and this one, learn of it from the database.
  await expect.poll(async () => (await useOwnToken()).status).toBe(403);
  const differences = await compare({
    name: "removed",
    target: renewed({ ...base }),
    expected: expectOfRemoved,
    includes: (teamCase) => teamCase.isFinal !== true && !isRotation(teamCase) && inSample(4)(teamCase),
  });
  expect(differences).toEqual([]);
});

async function removeRights(): Promise<void> {
  const { organisation, principals, trustRule } = team;
  const grants = `/api/secrets/vaults/${organisation.vaults.A}/grants`;
  const { items } = await request<{ items: { id: string; holder: { type: string; id: string } }[] }>(
    organisation,
    { method: "GET", path: grants },
  );
  const people = new Set(Object.values(principals).map(({ person }) => person?.accountId));
  const held = items.filter(({ holder }) => holder.type === "team" || people.has(holder.id));
  for (const { id } of held) await request(organisation, { method: "DELETE", path: `${grants}/${id}` });
  const { credentials } = organisation.steward;
  for (const name of ["owner without grant", "member", "auditor"] as const) {
    const path = `/api/organisations/${organisation.id}/members/${principals[name].person?.accountId}`;
    await request(organisation, { method: "DELETE", path, credentials });
  }
  const token = { method: "GET", path: "/api/secrets/tokens/self" };
  const { id } = await request(organisation, { ...token, ...principals["organisation token"] });
  await request(organisation, { method: "DELETE", path: `/api/secrets/tokens/${id}` });
  const path = `/api/secrets/trust-rules/${trustRule}`;
  await request(organisation, { method: "DELETE", path, ...principals.manager });
}

test("all of this was tried often enough", () => {
  expect(requests).toBeGreaterThanOrEqual(minRequests);
  expect(mistakes).toEqual([]);
  recordFigure({
    claim: "teams 1",
    text: `${cases.length} requests of ${new Set(cases.map(({ method, path }) => `${method} ${path}`)).size} routes as ${principalNames.length} principals equal the reviewed table, and ${requests} calls with other objects, paths, sign-ins and removed rights what follows from it; no value was revealed`,
    counted: { reached: requests, needed: minRequests },
  });
});
