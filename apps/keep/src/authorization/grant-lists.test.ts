import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import {
  type Arbitrary,
  array,
  assert,
  boolean,
  constantFrom,
  oneof,
  property,
  record,
  subarray,
  tuple,
  uniqueArray,
} from "fast-check";
import { expect, test } from "vitest";
import {
  allowsFolder,
  allowsPath,
  allowsReach,
  allowsScope,
  allowsVault,
  allowsWholeFolder,
  assertAccountAllowed,
  assertFolderAllowed,
  assertPathAllowed,
  assertScopeAllowed,
  type Grant,
  grantCovers,
  type Permission,
  pathsOf,
  vaultsOf,
} from "./grant.ts";
import { type Scope, scopes } from "./scopes.ts";
import { assertMayShare } from "./sharing.ts";

const vaults = ["vault-1", "vault-2", "vault-3"];
/** The last one is in no list, and stands for all that may exist later. */
const allVaults = [...vaults, "vault-unlisted"];
/** `z` is in no pattern, and stands for all other segments. */
const folders = listPaths(["a", "b", "z"], 3);
/** One level deeper than patterns reach without `**`. The empty path is the vault itself, which no pattern matches. */
const paths = ["", ...listPaths(["a", "b", "z"], 4)];
const patterns = ["/**", ...listPaths(["a", "b", "*"], 3).flatMap((text) => [text, `${text}/**`])];

/** Every path of one to `maxSegments` segments. */
function listPaths(segments: readonly string[], maxSegments: number): readonly string[] {
  const shorter = maxSegments === 1 ? [""] : ["", ...listPaths(segments, maxSegments - 1)];
  return [...new Set(shorter.flatMap((text) => segments.map((segment) => `${text}/${segment}`)))];
}

/** A set of the paths above: one bit each. */
type PathSet = bigint;

const noPaths: PathSet = 0n;
const allPaths: PathSet = setOf(() => true);

function setOf(contains: (path: string) => boolean): PathSet {
  return paths.reduce((set, path, index) => (contains(path) ? set | (1n << BigInt(index)) : set), noPaths);
}

/** The decisions, computed independently of the implementation: by trying every path. */
const setsByPattern = new Map(
  patterns.map((pattern) => {
    const source = pattern.replaceAll("/**", "(/[^/]+)+").replaceAll("/*", "/[^/]+");
    const expression = new RegExp(`^${source}$`, "u");
    return [pattern, setOf((path) => expression.test(path))];
  }),
);

function pathSet(list: readonly string[] | undefined): PathSet {
  if (list === undefined) return allPaths;
  return list.reduce((set, pattern) => set | patternSet(pattern), noPaths);
}

function patternSet(pattern: string): PathSet {
  const found = setsByPattern.get(pattern);
  if (found !== undefined) return found;
  throw new Error(`Not a pattern of this test: ${pattern}`);
}

const setsBelow = new Map(
  ["/", ...folders].map((folder) => [
    folder,
    setOf((path) => path !== "" && path.startsWith(folder === "/" ? "/" : `${folder}/`)),
  ]),
);

function below(folder: string): PathSet {
  return setsBelow.get(folder) ?? noPaths;
}

const covers = (outer: PathSet, inner: PathSet): boolean => (inner & ~outer) === noPaths;

type Attempt = { readonly scope: Scope; readonly vault: string; readonly path: string };

function appliesTo({ scopes: given, vaultIds }: Permission, { scope, vault }: Omit<Attempt, "path">) {
  return [...given].includes(scope) && (vaultIds === undefined || [...vaultIds].includes(vault));
}

/** The paths at which the permissions allow the scope in the vault. */
function allowedPaths(permissions: readonly Permission[], attempt: Omit<Attempt, "path">): PathSet {
  const applying = permissions.filter((permission) => appliesTo(permission, attempt));
  return applying.reduce((set, permission) => set | pathSet(permission.paths), noPaths);
}

const everything = scopes.flatMap((scope) => allVaults.map((vault) => ({ scope, vault })));

/** Whether the parents allow every request that the children allow. */
function allowsAllOf(parents: readonly Permission[], children: readonly Permission[]): boolean {
  return everything.every((attempt) =>
    covers(allowedPaths(parents, attempt), allowedPaths(children, attempt)),
  );
}

const some = <Value>(from: readonly Value[], maxLength: number): Arbitrary<Value[]> =>
  uniqueArray(constantFrom(...from), { minLength: 1, maxLength });

/** Few different scopes, so that permissions often meet. */
const anyScopes: Arbitrary<ReadonlySet<Scope>> = oneof(
  some(["secrets:read", "secrets:write", "grants:write"] as const, 3),
  some(scopes, 4),
).map((list) => new Set<Scope>(list));

const anyPermission: Arbitrary<Permission> = record(
  {
    scopes: anyScopes,
    vaultIds: some(vaults, 2).map((list) => new Set(list)),
    paths: some(patterns, 4),
  },
  { requiredKeys: ["scopes"] },
);
const anyPermissions = array(anyPermission, { maxLength: 5 });

const anyAttempt: Arbitrary<Attempt> = record({
  scope: oneof(
    constantFrom("secrets:read", "secrets:write", "grants:write" as const),
    constantFrom(...scopes),
  ),
  vault: constantFrom(...allVaults),
  path: constantFrom(...paths),
});

/** Parts of the first list, or an unrelated one: independent lists would almost never be covered. */
const anyPair: Arbitrary<readonly [readonly Permission[], readonly Permission[]]> = tuple(
  anyPermissions,
  anyPermissions,
  boolean(),
).chain(([parent, other, isRelated]) =>
  isRelated && parent.length > 0
    ? tuple(subarray([...parent], { minLength: 1 }), anyPermission).map(([chosen, narrower]) => {
        const children = chosen.map((permission) => narrow(permission, narrower));
        return [parent, children] as const;
      })
    : tuple(constantFrom(parent), constantFrom(other)),
);

function narrow(permission: Permission, by: Permission): Permission {
  const both = new Set([...permission.scopes].filter((scope) => by.scopes.has(scope)));
  const limits = { ...by, ...permission };
  return { ...limits, scopes: both.size === 0 ? permission.scopes : both };
}

/** Undefined when it does not throw. */
function failureOf(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    // Keep throws FailureError.
    return (error as { readonly failure?: { readonly kind: string } }).failure?.kind ?? String(error);
  }
}

const numRuns = chooseSize({ ci: 400, show: 4000, nightly: 40_000 });
const neededDecisions = chooseSize({ ci: 5000, show: 50_000, nightly: 500_000 });

type Outcomes = { allowed: number; refused: number };

function decide(outcomes: Outcomes, actual: unknown, expected: boolean): void {
  expect(actual).toBe(expected);
  if (expected) outcomes.allowed += 1;
  else outcomes.refused += 1;
}

/** What one random list of permissions decides about one random request. */
function compareDecisions(permissions: readonly Permission[], attempt: Attempt, outcomes: Outcomes): void {
  const grant: Grant = { permissions };
  const { scope, vault, path } = attempt;
  const reach = { scope, vaultId: vault };
  const allowed = allowedPaths(permissions, attempt);
  const isAllowed = (allowed & (1n << BigInt(paths.indexOf(path)))) !== noPaths;
  decide(outcomes, allowsPath(grant, reach, path), isAllowed);
  const pathFailure = failureOf(() => assertPathAllowed(grant, reach, path));
  expect(pathFailure).toBe(isAllowed ? undefined : "out-of-reach");
  const isReached = allowed !== noPaths;
  decide(outcomes, allowsReach(grant, reach), isReached);
  const scopeFailure = failureOf(() => assertScopeAllowed(grant, reach));
  expect(scopeFailure).toBe(isReached ? undefined : "insufficient-scope");
  const isUnlimited = permissions.some((each) => appliesTo(each, attempt) && each.paths === undefined);
  const list = pathsOf(grant, reach);
  decide(outcomes, list === undefined, isUnlimited);
  expect(pathSet(list)).toBe(allowed);
  // Compiled once per list.
  expect(pathsOf(grant, reach)).toBe(list);
}

/** Of whole vaults and accounts. */
function compareSelections(
  permissions: readonly Permission[],
  { scope }: Pick<Attempt, "scope">,
  outcomes: Outcomes,
): void {
  const grant: Grant = { permissions };
  const isIn = (vault: string) => allowedPaths(permissions, { scope, vault }) !== noPaths;
  const [unlisted = ""] = allVaults.slice(-1);
  const selected = vaultsOf(grant, scope);
  decide(outcomes, selected === undefined, isIn(unlisted));
  const sorted = selected === undefined ? undefined : [...selected].toSorted();
  expect(sorted).toEqual(isIn(unlisted) ? undefined : vaults.filter(isIn));
  decide(outcomes, allowsScope(grant, scope), allVaults.some(isIn));
  for (const vault of allVaults) {
    const isSomewhere = scopes.some((each) => allowedPaths(permissions, { scope: each, vault }) !== noPaths);
    decide(outcomes, allowsVault(grant, vault), isSomewhere);
  }
  const isOfAccount = permissions.some(
    (each) =>
      each.vaultIds === undefined &&
      appliesTo(each, { scope, vault: unlisted }) &&
      (each.paths === undefined || each.paths.some((pattern) => covers(patternSet(pattern), below("/")))),
  );
  const failure = failureOf(() => assertAccountAllowed(grant, scope));
  decide(outcomes, failure === undefined, isOfAccount);
  expect(failure).toBe(isOfAccount ? undefined : "out-of-reach");
}

function compareFolder(
  permissions: readonly Permission[],
  { folder, ...attempt }: Omit<Attempt, "path"> & { readonly folder: string },
  outcomes: Outcomes,
): void {
  const grant: Grant = { permissions };
  const reach = { scope: attempt.scope, vaultId: attempt.vault };
  const allowed = allowedPaths(permissions, attempt);
  decide(outcomes, allowsFolder(grant, reach, folder), (allowed & below(folder)) !== noPaths);
  const isWhole = permissions.some(
    (each) =>
      appliesTo(each, attempt) &&
      (each.paths === undefined || each.paths.some((pattern) => covers(patternSet(pattern), below(folder)))),
  );
  decide(outcomes, allowsWholeFolder(grant, reach, folder), isWhole);
  const failure = failureOf(() => assertFolderAllowed(grant, reach, folder));
  expect(failure).toBe(isWhole ? undefined : "out-of-reach");
}

test("a list of permissions allows exactly what at least one of them allows", () => {
  const outcomes: Outcomes = { allowed: 0, refused: 0 };
  const attempts = array(anyAttempt, { minLength: 2, maxLength: 2 });
  assert(
    property(anyPermissions, attempts, constantFrom("/", ...folders), (permissions, tried, folder) => {
      for (const attempt of tried) {
        compareDecisions(permissions, attempt, outcomes);
        compareSelections(permissions, attempt, outcomes);
        const { scope, vault } = attempt;
        compareFolder(permissions, { scope, vault, folder }, outcomes);
      }
    }),
    { numRuns, seed: 31, endOnFailure: true },
  );
  const decided = outcomes.allowed + outcomes.refused;
  expect(Math.min(outcomes.allowed, outcomes.refused)).toBeGreaterThan(decided / 10);
  expect(decided).toBeGreaterThanOrEqual(neededDecisions);
  recordFigure({
    claim: "teams 1",
    text: `${decided} decisions about random lists of permissions, ${outcomes.allowed} allowed and ${outcomes.refused} refused, are those of an independent oracle`,
    counted: { reached: decided, needed: neededDecisions },
  });
});

test("a list of permissions covers another exactly when it allows every request that the other allows", () => {
  const outcomes: Outcomes = { allowed: 0, refused: 0 };
  assert(
    property(anyPair, ([parents, children]) => {
      const isWithin = allowsAllOf(parents, children);
      decide(outcomes, grantCovers({ permissions: parents }, { permissions: children }), isWithin);
    }),
    { numRuns, seed: 32, endOnFailure: true },
  );
  expect(Math.min(outcomes.allowed, outcomes.refused)).toBeGreaterThan(numRuns / 10);
});

test("a token of a member allows exactly what both the token and the member allow", () => {
  let shared = 0;
  assert(
    property(anyPermissions, anyPermissions, anyAttempt, (ofToken, ofMember, { scope, vault, path }) => {
      const limited: Grant = { permissions: ofToken, within: { permissions: ofMember } };
      const reach = { scope, vaultId: vault };
      const both = allowedPaths(ofToken, { scope, vault }) & allowedPaths(ofMember, { scope, vault });
      for (const [index, each] of paths.entries())
        expect(allowsPath(limited, reach, each)).toBe((both & (1n << BigInt(index))) !== noPaths);
      // Of the rest, nothing that one of the two does not allow.
      const outers: readonly Grant[] = [{ permissions: ofToken }, { permissions: ofMember }];
      const checks: readonly ((grant: Grant) => boolean)[] = [
        (grant) => allowsScope(grant, scope),
        (grant) => allowsVault(grant, vault),
        (grant) => allowsReach(grant, reach),
        (grant) => allowsFolder(grant, reach, "/a"),
        (grant) => allowsWholeFolder(grant, reach, "/a"),
        (grant) => vaultsOf(grant, scope)?.has(vault) ?? true,
        (grant) => failureOf(() => assertAccountAllowed(grant, scope)) === undefined,
        (grant) => grantCovers(grant, { permissions: ofToken }),
      ];
      for (const check of checks) expect(check(limited)).toBe(outers.every(check));
      if (allowsPath(limited, reach, path)) shared += 1;
    }),
    { numRuns: 4 * numRuns, seed: 33, endOnFailure: true },
  );
  expect(shared).toBeGreaterThan(numRuns / 20);
});

test("only an owner's session shares what it does not have, and nobody shares where they may not", () => {
  const outcomes: Outcomes = { allowed: 0, refused: 0 };
  let onlyAsOwner = 0;
  const anyKind = constantFrom("session" as const, "token" as const);
  const anyOwner = oneof({ weight: 3, arbitrary: constantFrom(false) }, constantFrom(true));
  assert(
    property(anyPair, anyKind, anyOwner, ([given, wanted], kind, isOwner) => {
      const role: readonly Permission[] = isOwner ? [{ scopes: new Set(["grants:write"]) }] : [];
      const permissions = [...given, ...role];
      for (const permission of wanted) {
        const sharing = { ...permission, scopes: new Set<Scope>(["grants:write"]) };
        const maySharePlace = allowsAllOf(permissions, [sharing]);
        const hasAll = allowsAllOf(permissions, [permission]);
        const sharesAnything =
          kind === "session" &&
          permissions.some(
            ({ scopes: held, vaultIds, paths: at }) =>
              held.has("grants:write") && vaultIds === undefined && at === undefined,
          );
        const mayShare = maySharePlace && (hasAll || sharesAnything);
        const failure = failureOf(() => assertMayShare({ kind, grant: { permissions } }, permission));
        decide(outcomes, failure === undefined, mayShare);
        expect(failure).toBe(mayShare ? undefined : "grant-exceeded");
        if (mayShare && !hasAll) onlyAsOwner += 1;
      }
    }),
    { numRuns, seed: 35, endOnFailure: true },
  );
  expect(Math.min(outcomes.allowed, outcomes.refused, onlyAsOwner)).toBeGreaterThan(numRuns / 20);
});

test("no permission allows nothing", () => {
  const emptyGrant: Grant = { permissions: [] };
  for (const { scope, vault } of everything) {
    const reach = { scope, vaultId: vault };
    expect([allowsScope(emptyGrant, scope), allowsReach(emptyGrant, reach)]).toEqual([false, false]);
    expect([pathsOf(emptyGrant, reach), vaultsOf(emptyGrant, scope)]).toEqual([[], new Set()]);
  }
  expect(grantCovers(emptyGrant, emptyGrant)).toBe(true);
});
