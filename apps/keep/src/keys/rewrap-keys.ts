import { IntegrityError } from "@hearth-and-keep/envelope-crypto";
import type { Database } from "../database/open-database.ts";
import { type KeyWrapper, vaultKeyAssociatedData } from "./key-wrapper.ts";
import {
  isKeyNeeded,
  type KeyRef,
  listKeysWrappedBy,
  listRetiredKeys,
  listServerKeys,
  lockKeyWrappedBy,
  readActiveKey,
  storeServerWrap,
  storeWrap,
} from "./queries.ts";
import { serverKeyContext } from "./server-keys.ts";

export type RewrapDependencies = {
  readonly database: Pick<Database, "ask" | "inAccount" | "acrossAccounts">;
  readonly wrapper: KeyWrapper;
  /** Nothing that is stored needs the key with this fingerprint any longer. Told once. */
  readonly onNeedless: (fingerprint: string) => void;
  /** A wrapped key that does not open; it stays as it is, and so does the need for the key that wrapped it. */
  readonly onBroken: (place: KeyRef) => void;
};

/**
 * One turn of wrapping anew by the active key what older ones wrapped. Every key is a transaction of its own, so that a
 * node may end at any moment, and several may work at once. A node whose first key is not the active one leaves it to
 * those that know better: two that disagree would undo each other's work.
 */
export function createRewrapping(parts: RewrapDependencies): () => Promise<void> {
  const { database, wrapper } = parts;
  const told = new Set<string>();
  return async () => {
    if ((await readActiveKey(database)) !== wrapper.fingerprint) return;
    for (const old of await listRetiredKeys(database)) {
      if (!wrapper.fingerprints.includes(old)) continue;
      await rewrapServerKeys(old, parts);
      await rewrapVaultKeys(old, parts);
      if (told.has(old) || (await isKeyNeeded(database, old))) continue;
      told.add(old);
      parts.onNeedless(old);
    }
  };
}

async function rewrapServerKeys(old: string, { database, wrapper }: RewrapDependencies): Promise<void> {
  const kekFingerprint = wrapper.fingerprint;
  const rows = await listServerKeys(database);
  for (const { purpose, version, ...row } of rows.filter((candidate) => candidate.kekFingerprint === old)) {
    const key = await wrapper.unwrap(row.wrapped, serverKeyContext(purpose, version, old), old);
    const wrapped = await wrapper.wrap(key, serverKeyContext(purpose, version, kekFingerprint));
    await storeServerWrap(database, { purpose, version, kekFingerprint, wrapped }, old);
  }
}

async function rewrapVaultKeys(old: string, parts: RewrapDependencies): Promise<void> {
  let last: KeyRef | undefined;
  do {
    const places = await listKeysWrappedBy(parts.database, old, last);
    for (const place of places) {
      await rewrapVaultKey(place, old, parts).catch((problem: unknown) => {
        if (!(problem instanceof IntegrityError)) throw problem;
        parts.onBroken(place);
      });
    }
    last = places.at(-1);
  } while (last !== undefined);
}

async function rewrapVaultKey(
  place: KeyRef,
  old: string,
  { database, wrapper }: RewrapDependencies,
): Promise<void> {
  const { vaultId, version } = place;
  await database.inAccount(place.accountId, async (transaction) => {
    const before = await lockKeyWrappedBy(transaction, place, old);
    if (before === undefined) return;
    const kekFingerprint = wrapper.fingerprint;
    const key = await wrapper.unwrap(before, vaultKeyAssociatedData(vaultId, version, old), old);
    const wrapped = await wrapper.wrap(key, vaultKeyAssociatedData(vaultId, version, kekFingerprint));
    await storeWrap(transaction, place, { version, kekFingerprint, wrapped });
  });
}
