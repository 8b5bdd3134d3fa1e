import type { KeyObject } from "node:crypto";
import { deriveMacKey, generateKey, IntegrityError } from "@hearth-and-keep/envelope-crypto";
import { LRUCache } from "lru-cache";
import { maxEntries } from "../cache-options.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { type KeyWrapper, unboundKeyAssociatedData, vaultKeyAssociatedData } from "./key-wrapper.ts";
import {
  findActiveKey,
  findVaultKey,
  findVaultKeyWithin,
  insertVaultKey,
  lockVaultKeys,
  retireActiveKey,
  type WrappedKey,
  type WrappedVaultKey,
} from "./queries.ts";
import type { VaultRef } from "./vault-ref.ts";

/** One version of a vault's data key. */
export type DataKey = {
  readonly version: number;
  /** Encrypts values and notes. */
  readonly key: KeyObject;
  /** Authenticates rows; derived from `key`. */
  readonly macKey: KeyObject;
};

export type { VaultRef };

/** The vaults' data keys, unwrapped on first use and cached. */
export type VaultKeys = {
  /** Creates the first key of a new vault, in the transaction that creates the vault. */
  create(transaction: Transaction, vaultRef: VaultRef): Promise<DataKey>;
  /** Creates a new key that encrypts new values from this transaction on; the old ones still decrypt. */
  rotate(transaction: Transaction, vaultRef: VaultRef): Promise<DataKey>;
  /** The key that encrypts new values. */
  active(transaction: Transaction, vaultRef: VaultRef): Promise<DataKey>;
  /**
   * The key of this version, from the cache or the database. Throws IntegrityError when it is missing or cannot be
   * unwrapped.
   */
  ofVersion(vaultRef: VaultRef, version: number): Promise<DataKey>;
  /** As `ofVersion`, on the transaction's connection: acquiring a second connection while holding one can deadlock. */
  ofVersionWithin(transaction: Transaction, vaultRef: VaultRef, version: number): Promise<DataKey>;
  /**
   * Locks the data keys of a vault that goes to another account, and wraps them for that one. Throws "integrity-broken"
   * when one of them was not wrapped for this vault.
   */
  wrapForTransfer(transaction: Transaction, from: VaultRef, to: VaultRef): Promise<readonly WrappedKey[]>;
  /** For rotated keys and purged vaults; without an id, evicts all keys. */
  evict(vaultId?: string): void;
  /** The number of cached keys. */
  count(): number;
};

const maxCachedKeys = 20_000;
const cachedMilliseconds = 5 * 60 * 1000;

export function createVaultKeys(database: Pick<Database, "queryInAccount">, wrapper: KeyWrapper): VaultKeys {
  const cache = new LRUCache<string, DataKey>({
    ...maxEntries(maxCachedKeys),
    ttl: cachedMilliseconds,
  });
  const unwrap = async (vaultRef: VaultRef, row: WrappedVaultKey): Promise<DataKey> => {
    const cached = cache.get(cacheKey(vaultRef, row.version));
    if (cached !== undefined) return cached;
    const dataKey = toDataKey(row.version, await unwrapVaultKey(vaultRef, row, wrapper));
    cache.set(cacheKey(vaultRef, row.version), dataKey);
    return dataKey;
  };
  const getOrFind = async (
    vaultRef: VaultRef,
    version: number,
    find: () => Promise<WrappedVaultKey | undefined>,
  ): Promise<DataKey> => {
    const cached = cache.get(cacheKey(vaultRef, version));
    if (cached !== undefined) return cached;
    const row = await find();
    if (row === undefined) throw new IntegrityError();
    return unwrap(vaultRef, row);
  };
  const add = async (transaction: Transaction, vaultRef: VaultRef, version: number): Promise<DataKey> => {
    const key = generateKey();
    const { fingerprint } = wrapper;
    const wrapped = await wrapper.wrap(key, vaultKeyAssociatedData(vaultRef, version, fingerprint));
    await insertVaultKey(transaction, vaultRef, { version, kekFingerprint: fingerprint, wrapped });
    return toDataKey(version, key);
  };
  return {
    create: (transaction, vaultRef) => add(transaction, vaultRef, 1),
    async rotate(transaction, vaultRef) {
      const version = await retireActiveKey(transaction, vaultRef);
      if (version === undefined) throw requestFailure({ kind: "not-found" });
      return add(transaction, vaultRef, version + 1);
    },
    async active(transaction, vaultRef) {
      const row = await findActiveKey(transaction, vaultRef);
      if (row === undefined) throw requestFailure({ kind: "not-found" });
      return unwrap(vaultRef, row);
    },
    ofVersion: (vaultRef, version) =>
      getOrFind(vaultRef, version, () => findVaultKey(database, vaultRef, version)),
    ofVersionWithin: (transaction, vaultRef, version) =>
      getOrFind(vaultRef, version, () => findVaultKeyWithin(transaction, vaultRef, version)),
    async wrapForTransfer(transaction, from, to) {
      const rows = await lockVaultKeys(transaction, from);
      return Promise.all(rows.map((row) => rewrap(row, { from, to, wrapper })));
    },
    evict(vaultId) {
      if (vaultId === undefined) cache.clear();
      for (const name of cache.keys()) if (name.startsWith(`${vaultId} `)) cache.delete(name);
    },
    count: () => cache.size,
  };
}

/** Names the account too: a cached key must not decrypt for another one. */
function cacheKey({ accountId, vaultId }: VaultRef, version: number): string {
  return `${vaultId} ${accountId} ${version}`;
}

export function unwrapVaultKey(
  vaultRef: VaultRef,
  { version, kekFingerprint, wrapped, isBound }: WrappedVaultKey,
  wrapper: Pick<KeyWrapper, "unwrap">,
): Promise<KeyObject> {
  const associatedData = isBound ? vaultKeyAssociatedData : unboundKeyAssociatedData;
  return wrapper.unwrap(wrapped, associatedData(vaultRef, version, kekFingerprint), kekFingerprint);
}

type Rewrap = { readonly from: VaultRef; readonly to: VaultRef; readonly wrapper: KeyWrapper };

async function rewrap(row: WrappedVaultKey, { from, to, wrapper }: Rewrap): Promise<WrappedKey> {
  const { version } = row;
  const kekFingerprint = wrapper.fingerprint;
  try {
    const key = await unwrapVaultKey(from, row, wrapper);
    const wrapped = await wrapper.wrap(key, vaultKeyAssociatedData(to, version, kekFingerprint));
    return { version, kekFingerprint, wrapped };
  } catch (error) {
    if (!(error instanceof IntegrityError)) throw error;
    throw requestFailure({ kind: "integrity-broken" }, { cause: error });
  }
}

function toDataKey(version: number, key: KeyObject): DataKey {
  return { version, key, macKey: deriveMacKey(key) };
}
