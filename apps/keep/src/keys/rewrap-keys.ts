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
  updateWrappedKey,
  updateWrappedServerKey,
} from "./queries.ts";
import { serverKeyAssociatedData } from "./server-keys.ts";

export type RewrapDependencies = {
  readonly database: Pick<Database, "query" | "inAccount" | "acrossAccounts">;
  readonly wrapper: KeyWrapper;
  /** Called once when nothing is wrapped by this key any more. */
  readonly onKeyUnused: (fingerprint: string) => void;
  /** Called for a wrapped key that fails to unwrap. It is left unchanged, so its key-encryption key is still needed. */
  readonly onIntegrityError: (keyRef: KeyRef) => void;
};

/**
 * One pass that rewraps, with the active key, what retired keys wrapped. Each key is rewrapped in its own transaction, so
 * a node can stop at any time and several nodes can work concurrently. A node whose first key is not the active one does
 * nothing, because nodes with different keys would undo each other's work.
 */
export function createRewrapTask(dependencies: RewrapDependencies): () => Promise<void> {
  const { database, wrapper } = dependencies;
  const reported = new Set<string>();
  return async () => {
    if ((await readActiveKey(database)) !== wrapper.fingerprint) return;
    for (const retired of await listRetiredKeys(database)) {
      if (!wrapper.fingerprints.includes(retired)) continue;
      await rewrapServerKeys(retired, dependencies);
      await rewrapVaultKeys(retired, dependencies);
      if (reported.has(retired) || (await isKeyNeeded(database, retired))) continue;
      reported.add(retired);
      dependencies.onKeyUnused(retired);
    }
  };
}

async function rewrapServerKeys(retired: string, { database, wrapper }: RewrapDependencies): Promise<void> {
  const kekFingerprint = wrapper.fingerprint;
  const rows = await listServerKeys(database);
  for (const { purpose, version, ...row } of rows.filter(
    (candidate) => candidate.kekFingerprint === retired,
  )) {
    const key = await wrapper.unwrap(
      row.wrapped,
      serverKeyAssociatedData(purpose, version, retired),
      retired,
    );
    const wrapped = await wrapper.wrap(key, serverKeyAssociatedData(purpose, version, kekFingerprint));
    await updateWrappedServerKey(database, { purpose, version, kekFingerprint, wrapped }, retired);
  }
}

async function rewrapVaultKeys(retired: string, dependencies: RewrapDependencies): Promise<void> {
  let last: KeyRef | undefined;
  do {
    const keyRefs = await listKeysWrappedBy(dependencies.database, retired, last);
    for (const keyRef of keyRefs) {
      await rewrapVaultKey(keyRef, retired, dependencies).catch((error: unknown) => {
        if (!(error instanceof IntegrityError)) throw error;
        dependencies.onIntegrityError(keyRef);
      });
    }
    last = keyRefs.at(-1);
  } while (last !== undefined);
}

async function rewrapVaultKey(
  keyRef: KeyRef,
  retired: string,
  { database, wrapper }: RewrapDependencies,
): Promise<void> {
  const { vaultId, version } = keyRef;
  await database.inAccount(keyRef.accountId, async (transaction) => {
    const wrappedBefore = await lockKeyWrappedBy(transaction, keyRef, retired);
    if (wrappedBefore === undefined) return;
    const kekFingerprint = wrapper.fingerprint;
    const key = await wrapper.unwrap(
      wrappedBefore,
      vaultKeyAssociatedData(vaultId, version, retired),
      retired,
    );
    const wrapped = await wrapper.wrap(key, vaultKeyAssociatedData(vaultId, version, kekFingerprint));
    await updateWrappedKey(transaction, keyRef, { version, kekFingerprint, wrapped });
  });
}
