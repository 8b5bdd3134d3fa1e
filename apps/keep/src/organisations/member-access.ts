import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { FindAccess, MemberAccess } from "../authorization/member-access.ts";
import { permissionsOfRole } from "../authorization/roles.ts";
import { maxEntries } from "../cache-options.ts";
import type { CacheInvalidation } from "../cluster/cache-invalidation.ts";
import { createPermissionReader } from "../grants/read-grants.ts";
import { findGenuineMember, type GenuineMember, type MembershipDependencies } from "./find-membership.ts";
import { findAccount, type MemberRef } from "./queries.ts";

const maxAttempts = 3;
const maxMembers = 20_000;

/**
 * Who is a member, and which grants there are, is read each time, as sessions are. What the grants say is kept for as long
 * as they are the same; then the result is the same object, so that path patterns are compiled once.
 */
export function createAccessFinder(dependencies: MembershipDependencies): FindAccess {
  const known = new LRUCache<string, MemberAccess>(maxEntries(maxMembers));
  const readPermissions = createPermissionReader(dependencies.database, dependencies.serverKeys.rowMacs);
  return async (memberRef) => {
    for (let attempt = 1; ; attempt += 1) {
      const member = await findGenuineMember(memberRef, dependencies);
      if (member === undefined) return undefined;
      const key = keyOf(memberRef, member);
      const found = known.get(key);
      if (found !== undefined) return found;
      const { role, teamIds, epoch, grantsVersion: version } = member;
      const holders = [
        { type: "person", id: memberRef.personId } as const,
        ...teamIds.map((id) => ({ type: "team", id }) as const),
      ];
      const permissions = await readPermissions({ ...memberRef, epoch, version }, holders);
      if (permissions !== "not-genuine") {
        const grant = { permissions: [...permissionsOfRole(role), ...permissions] };
        const access = { role, grant };
        known.set(key, access);
        return access;
      }
      // The grants may have changed in between. What stays as it is was modified outside Keep.
      if (attempt === maxAttempts) {
        dependencies.onIntegrityError?.(memberRef.accountId);
        return undefined;
      }
    }
  };
}

function keyOf(
  { accountId, personId }: MemberRef,
  { role, teamIds, epoch, grantsVersion }: GenuineMember,
): string {
  return hash("sha256", JSON.stringify([accountId, personId, role, teamIds, epoch, grantsVersion]));
}

const maxOwners = 20_000;
const ownerMilliseconds = 60_000;

/**
 * For tokens of members, which are checked with every use: kept in memory while this node receives revocations. Undefined
 * also while the account of the person is suspended.
 */
export function createOwnerAccess(
  invalidation: CacheInvalidation,
  findAccess: FindAccess,
  dependencies: MembershipDependencies,
): FindAccess {
  const known = new LRUCache<string, MemberAccess>({ ...maxEntries(maxOwners), ttl: ownerMilliseconds });
  const evict = {
    one: (id: string) =>
      [...known.keys()].filter((key) => key.includes(id)).forEach((key) => known.delete(key)),
    all: () => known.clear(),
  };
  invalidation.onInvalidate("access", evict);
  invalidation.onInvalidate("account", evict);
  return async (memberRef) => {
    const key = `${memberRef.accountId} ${memberRef.personId}`;
    const cached = invalidation.isFresh() ? known.get(key) : undefined;
    if (cached !== undefined) return cached;
    const generation = invalidation.generation();
    const isActive = await isActiveAccount(memberRef.personId, dependencies);
    const found = isActive ? await findAccess(memberRef) : undefined;
    if (found !== undefined && generation === invalidation.generation()) known.set(key, found);
    return found;
  };
}

/** Whether the person can sign in. */
export async function isActiveAccount(
  accountId: string,
  {
    database,
    serverKeys: { rowMacs },
  }: Pick<MembershipDependencies, "serverKeys"> & {
    readonly database: Pick<MembershipDependencies["database"], "queryInAccount">;
  },
): Promise<boolean> {
  const found = await findAccount(database, accountId);
  if (found === undefined) return false;
  const { mac, ...account } = found;
  return account.status === "active" && rowMacs.isGenuine({ account }, mac);
}
