import { IntegrityError } from "@hearth-and-keep/envelope-crypto";
import type { Database } from "../database/open-database.ts";
import { type KeyWrapper, vaultKeyAssociatedData } from "./key-wrapper.ts";
import {
  isKeyNeeded,
  type KeyRef,
  listKeysWrappedBy,
  listRetiredKeys,
  listServerKeys,
  listUnboundKeys,
  lockVaultKey,
  readActiveKey,
  updateWrappedKey,
  updateWrappedServerKey,
} from "./queries.ts";
import { serverKeyAssociatedData } from "./server-keys.ts";
import { unwrapVaultKey } from "./vault-keys.ts";

export type RewrapDependencies = {
  readonly database: Pick<Database, "query" | "inAccount" | "acrossAccounts">;
  readonly wrapper: KeyWrapper;
  /** Called once when nothing is wrapped by this key any more. */
  readonly onKeyUnused: (fingerprint: string) => void;
  /** Called for a wrapped key that fails to unwrap. It is left unchanged, so its key-encryption key is still needed. */
  readonly onIntegrityError: (keyRef: KeyRef) => void;
};

/**
 * One pass that rewraps, with the active key, what retired keys wrapped, and wraps that do not name their account. Each
 * key is rewrapped in its own transaction, so a node can stop at any time and several nodes can work concurrently. A node
 * whose first key is not the active one does nothing, because nodes with different keys would undo each other's work.
 */
export function createRewrapTask(dependencies: RewrapDependencies): () => Promise<void> {
  const { database, wrapper } = dependencies;
  const reported = new Set<string>();
  return async () => {
    if ((await readActiveKey(database)) !== wrapper.fingerprint) return;
    await rewrapVaultKeys((last) => listUnboundKeys(database, last), dependencies);
    for (const retired of await listRetiredKeys(database)) {
      if (!wrapper.fingerprints.includes(retired)) continue;
      await rewrapServerKeys(retired, dependencies);
      await rewrapVaultKeys((last) => listKeysWrappedBy(database, retired, last), dependencies);
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

async function rewrapVaultKeys(
  list: (after: KeyRef | undefined) => Promise<readonly KeyRef[]>,
  dependencies: RewrapDependencies,
): Promise<void> {
  let last: KeyRef | undefined;
  do {
    const keyRefs = await list(last);
    for (const keyRef of keyRefs) {
      await rewrapVaultKey(keyRef, dependencies).catch((error: unknown) => {
        if (!(error instanceof IntegrityError)) throw error;
        dependencies.onIntegrityError(keyRef);
      });
    }
    last = keyRefs.at(-1);
  } while (last !== undefined);
}

async function rewrapVaultKey(keyRef: KeyRef, { database, wrapper }: RewrapDependencies): Promise<void> {
  await database.inAccount(keyRef.accountId, async (transaction) => {
    const before = await lockVaultKey(transaction, keyRef);
    const kekFingerprint = wrapper.fingerprint;
    // Another node was first.
    if (before === undefined || (before.isBound && before.kekFingerprint === kekFingerprint)) return;
    const { version } = keyRef;
    const key = await unwrapVaultKey(keyRef, before, wrapper);
    const wrapped = await wrapper.wrap(key, vaultKeyAssociatedData(keyRef, version, kekFingerprint));
    await updateWrappedKey(transaction, keyRef, { version, kekFingerprint, wrapped });
  });
}
