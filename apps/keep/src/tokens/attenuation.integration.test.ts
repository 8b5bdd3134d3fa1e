import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import type { RequestHead } from "@hearth-and-keep/http-service";
import {
  type Arbitrary,
  assert,
  asyncProperty,
  constantFrom,
  oneof,
  record,
  sample,
  tuple,
  uniqueArray,
} from "fast-check";
import { expect, test } from "vitest";
import { type AccessDependencies, admit } from "../access/authenticate.ts";
import { allowsPath, grantCovers } from "../authorization/grant.ts";
import { scopes } from "../authorization/scopes.ts";
import { createCacheInvalidation } from "../cluster/cache-invalidation.ts";
import { generateId } from "../generate-id.ts";
import { type Attempt, isAllowed, isSubset, type Universe } from "../test/grant-oracle.ts";
import { startTestKeep, type TestGrant } from "../test/start-test-keep.ts";
import { createTokenCheck, toGrant } from "./check-token.ts";
import type { StoredGrant } from "./queries.ts";
import { generateToken } from "./token-format.ts";

const hour = 3_600_000;
const now = Date.now();
const ends = [1, 2, 3].map((hours) => now + hours * hour);
const vaults = Array.from({ length: 3 }, generateId);
const ranges =
  "10.0.0.0/8 10.0.0.0/9 10.128.0.0/9 10.1.2.0/24 10.1.2.3 192.168.0.0/16 0.0.0.0/0 0.0.0.0/1 128.0.0.0/1 ::/0 2001:db8::/32 2001:db8::/33 2001:db8:8000::/33 2001:db8::1 ::ffff:10.0.0.0/104".split(
    " ",
  );
/** The first and last address of each range, and their neighbours. */
const addresses =
  "10.0.0.0 10.127.255.255 10.128.0.0 10.255.255.255 9.255.255.255 11.0.0.0 10.1.1.255 10.1.2.0 10.1.2.2 10.1.2.3 10.1.2.4 10.1.2.255 10.1.3.0 192.167.255.255 192.168.0.0 192.168.255.255 192.169.0.0 0.0.0.0 127.255.255.255 128.0.0.0 255.255.255.255 :: ::fffe:ffff:ffff ::1:0:0:0 2001:db7:ffff:ffff:ffff:ffff:ffff:ffff 2001:db8:: 2001:db8::1 2001:db8::2 2001:db8:7fff:ffff:ffff:ffff:ffff:ffff 2001:db8:8000:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff 2001:db9:: ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".split(
    " ",
  );
const universe: Universe = {
  scopes,
  // One is in no grant.
  vaults: [...vaults, generateId()],
  // The empty path stands for the vault itself, which no path pattern matches.
  paths: [...listPaths(["a", "b", "z"], 5), ""],
  addresses,
  moments: [now, ...ends.flatMap((end) => [end - 1, end, end + 1])],
};
const patterns = listPaths(["a", "b", "*"], 3).flatMap((text) => [text, `${text}/**`]);

/** Every path of one to `maxSegments` segments. */
function listPaths(segments: readonly string[], maxSegments: number): readonly string[] {
  const shorter = maxSegments === 1 ? [""] : ["", ...listPaths(segments, maxSegments - 1)];
  return [...new Set(shorter.flatMap((text) => segments.map((segment) => `${text}/${segment}`)))];
}

const some = <Value>(from: readonly Value[]): Arbitrary<Value[]> =>
  uniqueArray(constantFrom(...from), { minLength: 1, maxLength: 4 });

const anyGrant = record(
  {
    scopes: some(scopes),
    vaultIds: some(vaults),
    paths: some([...patterns, "/**"]),
    addresses: some(ranges),
    expiresAt: constantFrom(...ends).map((end) => new Date(end)),
  },
  { requiredKeys: ["scopes"] },
);

/** The child copies most restrictions from the parent; independent grants would almost never be covered. */
const anyPair: Arbitrary<readonly [TestGrant, TestGrant]> = tuple(anyGrant, anyGrant).chain(
  ([parent, other]) =>
    tuple(...limits.map(() => oneof({ weight: 3, arbitrary: constantFrom(true) }, constantFrom(false)))).map(
      (isKept) => {
        const names = limits.filter((_, index) => isKept[index]);
        const kept = Object.fromEntries(names.map((name) => [name, parent[name]]));
        // Every restriction comes from one of two grants, so the result is a grant.
        return [parent, definedOf({ ...other, ...kept }) as unknown as TestGrant] as const;
      },
    ),
);
const limits = ["scopes", "vaultIds", "paths", "addresses", "expiresAt"] as const;

function definedOf(values: object): object {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

const anyAttempt: Arbitrary<Attempt> = record({
  scope: constantFrom(...universe.scopes),
  vault: constantFrom(...universe.vaults),
  path: constantFrom(...universe.paths),
  address: constantFrom(...universe.addresses),
  moment: constantFrom(...universe.moments),
});

function toStoredGrant({
  scopes: given,
  vaultIds,
  paths,
  addresses: from,
  expiresAt,
}: TestGrant): StoredGrant {
  return {
    scopes: given,
    vaultIds: vaultIds ?? null,
    paths: paths ?? null,
    addresses: from ?? null,
    expiresAt: expiresAt ?? null,
  };
}

/** The grant and time that the next token check sees. */
const current: { grant: TestGrant; moment: number } = { grant: { scopes: [] }, moment: now };
/** The result of both queries. Expiry is left to the check, as for a cached token. */
const runQuery = async <Row extends object>(): Promise<readonly Row[]> => {
  const ids = {
    id: generateId(),
    accountId: generateId(),
    tokenId: generateId(),
    validUntil: null,
    ownerId: null,
  };
  // The columns of both queries.
  return [{ ...toStoredGrant(current.grant), ...ids } as unknown as Row];
};
const access: AccessDependencies = {
  checkToken: createTokenCheck({
    database: { query: runQuery, queryInAccount: runQuery },
    invalidation: createCacheInvalidation({ isFresh: () => true, databaseNow: () => current.moment }),
    // The stored rows are made up.
    rowMacs: { isGenuine: () => true },
    findOwnerAccess: async () => undefined,
    recordUse: () => undefined,
  }),
  checkSession: async () => undefined,
  findAccess: async () => undefined,
  findVaultRoute: async () => undefined,
  isStored: async () => true,
  publicUrl: new URL("http://keep.test"),
  sessionCookie: "session",
  // No rate limit.
  limits: {
    consume: () => undefined,
    consumeForAddress: () => undefined,
    badCredentials: { secondsUntilNext: () => 0, count: () => undefined },
    headersFor: () => ({}),
  },
};

/** Keep's decision about one request: token check, route admission and path patterns. */
async function isAdmitted(grant: TestGrant, attempt: Attempt): Promise<boolean> {
  Object.assign(current, { grant, moment: attempt.moment });
  const head: RequestHead = {
    requestId: "",
    method: "GET",
    path: "",
    parameters: { vault: attempt.vault },
    query: {},
    headers: { authorization: `Bearer ${generateToken()}` },
    clientAddress: attempt.address,
    addLogFields: () => undefined,
    addResponseHeaders: () => undefined,
  };
  const actor = await admit(head, { access: "actor", scope: attempt.scope }, access).catch(() => undefined);
  const reach = { scope: attempt.scope, vaultId: attempt.vault };
  return actor !== undefined && allowsPath(actor.grant, reach, attempt.path);
}

test("a grant covers another exactly when it allows every request that the other allows", async () => {
  const pairs = chooseSize({ ci: 600, show: 10_000, nightly: 100_000 });
  let [allowed, refused, decided] = [0, 0, 0];
  await assert(
    asyncProperty(anyPair, tuple(anyAttempt, anyAttempt), async ([parent, child], attempts) => {
      const isWithin = isSubset(child, parent, universe);
      expect(grantCovers(toGrant(toStoredGrant(parent)), toGrant(toStoredGrant(child)))).toBe(isWithin);
      if (isWithin) allowed += 1;
      else refused += 1;
      for (const grant of [parent, child]) {
        for (const attempt of attempts) {
          expect(await isAdmitted(grant, attempt)).toBe(isAllowed(grant, attempt));
          decided += 1;
        }
      }
    }),
    { numRuns: pairs, seed: 10, endOnFailure: true },
  );
  expect(Math.min(allowed, refused)).toBeGreaterThan(pairs / 10);
  recordFigure({
    claim: "keep 4",
    text: `${allowed} child tokens allowed and ${refused} refused as their parents' grants require, ${decided} requests decided alike`,
    counted: { reached: allowed + refused, needed: pairs },
  });
});

test("a token can create only tokens within its own grant", async () => {
  const pairs = sample(anyPair, { numRuns: chooseSize({ ci: 60, show: 200, nightly: 2000 }), seed: 20 });
  await using keep = await startTestKeep({ settings: { trustedProxies: "127.0.0.1" } });
  let person = await keep.addPerson();
  let [allowed, refused] = [0, 0];
  for (const [index, [parent, child]] of pairs.entries()) {
    // Stay below the account's token limit.
    if (index % 40 === 0) person = await keep.addPerson();
    const above = withVault({ ...parent, scopes: [...parent.scopes, "tokens:write"] }, person.vaultId);
    const below = withVault(child, person.vaultId);
    const token = await keep.addToken(person, above);
    const { vaultIds, expiresAt, ...rest } = toStoredGrant(below);
    const { status } = await keep.request("/api/secrets/tokens", {
      method: "POST",
      token: token.text,
      headers: { "x-forwarded-for": addressWithin(above) },
      body: { name: "child", ...rest, vault_ids: vaultIds, expires_at: expiresAt },
    });
    const isWithin = isSubset(below, above, { ...universe, vaults: [person.vaultId, ...universe.vaults] });
    expect(status, JSON.stringify([above, below])).toBe(isWithin ? 201 : 403);
    if (isWithin) allowed += 1;
    else refused += 1;
  }
  expect(Math.min(allowed, refused)).toBeGreaterThan(pairs.length / 10);
});

/** Replaces a vault restriction by an existing vault. */
function withVault(grant: TestGrant, vaultId: string): TestGrant {
  return grant.vaultIds === undefined ? grant : { ...grant, vaultIds: [vaultId] };
}

function addressWithin(grant: TestGrant): string {
  const anywhere = { scopes, ...(grant.addresses === undefined ? {} : { addresses: grant.addresses }) };
  const attempt = { scope: "audit:read", vault: "", path: "/a", moment: now } as const;
  return addresses.find((address) => isAllowed(anywhere, { ...attempt, address })) ?? "";
}
