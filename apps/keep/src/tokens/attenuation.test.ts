import { recordFigure, scale } from "@hearth-and-keep/figures";
import type { CallHead } from "@hearth-and-keep/http-service";
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
import { type AccessParts, admit } from "../access/authenticate.ts";
import { grantCovers, reachesPath } from "../authorization/grant.ts";
import { scopes } from "../authorization/scopes.ts";
import { createForgetting } from "../cluster/cache-invalidation.ts";
import { makeId } from "../make-id.ts";
import { isSubset, mayTry, type Trial, type Universe } from "../test/grant-oracle.ts";
import { startTestKeep, type TestGrant } from "../test/start-test-keep.ts";
import { createTokenCheck, grantOf } from "./check-token.ts";
import type { StoredGrant } from "./queries.ts";
import { makeToken } from "./token-format.ts";

const hour = 3_600_000;
const now = Date.now();
const ends = [1, 2, 3].map((hours) => now + hours * hour);
const vaults = Array.from({ length: 3 }, makeId);
const ranges =
  "10.0.0.0/8 10.0.0.0/9 10.128.0.0/9 10.1.2.0/24 10.1.2.3 192.168.0.0/16 0.0.0.0/0 0.0.0.0/1 128.0.0.0/1 ::/0 2001:db8::/32 2001:db8::/33 2001:db8:8000::/33 2001:db8::1 ::ffff:10.0.0.0/104".split(
    " ",
  );
/** The first and last of every range above, and their neighbours. */
const addresses =
  "10.0.0.0 10.127.255.255 10.128.0.0 10.255.255.255 9.255.255.255 11.0.0.0 10.1.1.255 10.1.2.0 10.1.2.2 10.1.2.3 10.1.2.4 10.1.2.255 10.1.3.0 192.167.255.255 192.168.0.0 192.168.255.255 192.169.0.0 0.0.0.0 127.255.255.255 128.0.0.0 255.255.255.255 :: ::fffe:ffff:ffff ::1:0:0:0 2001:db7:ffff:ffff:ffff:ffff:ffff:ffff 2001:db8:: 2001:db8::1 2001:db8::2 2001:db8:7fff:ffff:ffff:ffff:ffff:ffff 2001:db8:8000:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff 2001:db9:: ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".split(
    " ",
  );
const universe: Universe = {
  scopes,
  // One of them is in no list.
  vaults: [...vaults, makeId()],
  // Without any segment it is the vault as a whole, which nothing limited to paths reaches.
  paths: [...textsOf(["a", "b", "z"], 5), ""],
  addresses,
  moments: [now, ...ends.flatMap((end) => [end - 1, end, end + 1])],
};
const patterns = textsOf(["a", "b", "*"], 3).flatMap((text) => [text, `${text}/**`]);

/** Every path of one to so many segments. */
function textsOf(segments: readonly string[], most: number): readonly string[] {
  const shorter = most === 1 ? [""] : ["", ...textsOf(segments, most - 1)];
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

/** The child is the parent's own in most of its limits, or the two would hardly ever fit. */
const anyPair: Arbitrary<readonly [TestGrant, TestGrant]> = tuple(anyGrant, anyGrant).chain(
  ([parent, other]) =>
    tuple(...limits.map(() => oneof({ weight: 3, arbitrary: constantFrom(true) }, constantFrom(false)))).map(
      (keeps) => {
        const names = limits.filter((_, place) => keeps[place]);
        const kept = Object.fromEntries(names.map((name) => [name, parent[name]]));
        // Every limit is the parent's or the other's, so it is a grant again; an absent one limits nothing.
        return [parent, definedOf({ ...other, ...kept }) as unknown as TestGrant] as const;
      },
    ),
);
const limits = ["scopes", "vaultIds", "paths", "addresses", "expiresAt"] as const;

function definedOf(values: object): object {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

const anyTrial: Arbitrary<Trial> = record({
  scope: constantFrom(...universe.scopes),
  vault: constantFrom(...universe.vaults),
  path: constantFrom(...universe.paths),
  address: constantFrom(...universe.addresses),
  moment: constantFrom(...universe.moments),
});

function storedOf({ scopes: given, vaultIds, paths, addresses: from, expiresAt }: TestGrant): StoredGrant {
  return {
    scopes: given,
    vaultIds: vaultIds ?? null,
    paths: paths ?? null,
    addresses: from ?? null,
    expiresAt: expiresAt ?? null,
  };
}

/** What the next check of a token finds, and when it is. */
const trying: { grant: TestGrant; moment: number } = { grant: { scopes: [] }, moment: now };
/** As the database answers both statements; what is over by now is left to the check, as for a remembered token. */
const findTried = async <Row extends object>(): Promise<readonly Row[]> => {
  const ids = { id: makeId(), accountId: makeId(), tokenId: makeId(), validUntil: null };
  // The columns of both statements in one.
  return [{ ...storedOf(trying.grant), ...ids } as unknown as Row];
};
const parts: AccessParts = {
  checkToken: createTokenCheck({
    database: { ask: findTried, askInAccount: findTried },
    forgetting: createForgetting({ isFresh: () => true, databaseNow: () => trying.moment }),
    noteUse: () => undefined,
  }),
  checkSession: async () => undefined,
  publicUrl: new URL("http://keep.test"),
  sessionCookie: "session",
  // As many tries as the test likes.
  limits: {
    take: () => undefined,
    takeFrom: () => undefined,
    badCredentials: { secondsUntilNext: () => 0, count: () => undefined },
    headersFor: () => ({}),
  },
};

/** The program's own decision about one try: the check of the token, the admission to a row, and the reach of paths. */
async function isLetIn(grant: TestGrant, trial: Trial): Promise<boolean> {
  Object.assign(trying, { grant, moment: trial.moment });
  const head: CallHead = {
    requestId: "",
    method: "GET",
    path: "",
    parameters: { vault: trial.vault },
    query: {},
    headers: { authorization: `Bearer ${makeToken()}` },
    address: trial.address,
    note: () => undefined,
  };
  const actor = await admit(head, { access: "actor", scope: trial.scope }, parts).catch(() => undefined);
  return actor !== undefined && reachesPath(actor.grant, trial.path);
}

test("a token mints exactly what lies within itself, judged by what each of the two may do", async () => {
  const pairs = 10_000;
  let [minted, refused, decided] = [0, 0, 0];
  await assert(
    asyncProperty(anyPair, tuple(anyTrial, anyTrial), async ([parent, child], trials) => {
      const isWithin = isSubset(child, parent, universe);
      expect(grantCovers(grantOf(storedOf(parent)), grantOf(storedOf(child)))).toBe(isWithin);
      if (isWithin) minted += 1;
      else refused += 1;
      for (const grant of [parent, child]) {
        for (const trial of trials) {
          expect(await isLetIn(grant, trial)).toBe(mayTry(grant, trial));
          decided += 1;
        }
      }
    }),
    { numRuns: pairs, endOnFailure: true },
  );
  expect(Math.min(minted, refused)).toBeGreaterThan(pairs / 10);
  recordFigure({
    claim: "keep 4",
    text: `${minted} children minted and ${refused} refused as their parents' reach says, ${decided} requests decided alike`,
    counted: { reached: minted + refused, needed: pairs },
  });
});

test("the server mints what lies within the asking token and refuses the rest", async () => {
  const pairs = sample(anyPair, { numRuns: scale === "nightly" ? 2000 : 200, seed: 20 });
  await using keep = await startTestKeep({ settings: { trustedProxies: "127.0.0.1" } });
  let person = await keep.addPerson();
  let [minted, refused] = [0, 0];
  for (const [place, [parent, child]] of pairs.entries()) {
    // Of one person no more than an account may have.
    if (place % 40 === 0) person = await keep.addPerson();
    const above = withVault({ ...parent, scopes: [...parent.scopes, "tokens:write"] }, person.vaultId);
    const below = withVault(child, person.vaultId);
    const token = await keep.addToken(person, above);
    const { vaultIds, expiresAt, ...rest } = storedOf(below);
    const { status } = await keep.ask("/api/secrets/tokens", {
      method: "POST",
      token: token.text,
      headers: { "x-forwarded-for": addressWithin(above) },
      body: { name: "child", ...rest, vault_ids: vaultIds, expires_at: expiresAt },
    });
    const isWithin = isSubset(below, above, { ...universe, vaults: [person.vaultId, ...universe.vaults] });
    expect(status, JSON.stringify([above, below])).toBe(isWithin ? 201 : 403);
    if (isWithin) minted += 1;
    else refused += 1;
  }
  expect(Math.min(minted, refused)).toBeGreaterThan(pairs.length / 10);
});

/** With a vault that is there, where it is limited to any. */
function withVault(grant: TestGrant, vaultId: string): TestGrant {
  return grant.vaultIds === undefined ? grant : { ...grant, vaultIds: [vaultId] };
}

function addressWithin(grant: TestGrant): string {
  const anywhere = { scopes, ...(grant.addresses === undefined ? {} : { addresses: grant.addresses }) };
  const trial = { scope: "audit:read", vault: "", path: "/a", moment: now } as const;
  return addresses.find((address) => mayTry(anywhere, { ...trial, address })) ?? "";
}
