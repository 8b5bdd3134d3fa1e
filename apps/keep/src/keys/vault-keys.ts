import type { KeyObject } from "node:crypto";
import { deriveMacKey, generateKey, IntegrityError } from "@hearth-and-keep/envelope-crypto";
import { LRUCache } from "lru-cache";
import { maxEntries } from "../cache-options.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { type KeyWrapper, vaultKeyAssociatedData } from "./key-wrapper.ts";
import {
  findActiveKey,
  findVaultKey,
  findVaultKeyWithin,
  insertVaultKey,
  retireActiveKey,
  type WrappedKey,
} from "./queries.ts";
import type { VaultRef } from "./vault-ref.ts";

/** A vault's data key of one version. */
export type DataKey = {
  readonly version: number;
  /** Seals values and notes. */
  readonly key: KeyObject;
  /** Marks rows; derived from the key above. */
  readonly macKey: KeyObject;
};

export type { VaultRef };

/** The data keys of vaults, unwrapped when they are needed and remembered for a while. */
export type VaultKeys = {
  /** Makes and stores the first key of a new vault, in the transaction that makes the vault. */
  create(transaction: Transaction, place: VaultRef): Promise<DataKey>;
  /** Makes another one, which new values are sealed with from this transaction on; the old ones open still. */
  rotate(transaction: Transaction, place: VaultRef): Promise<DataKey>;
  /** The one that new values are sealed with. */
  active(transaction: Transaction, place: VaultRef): Promise<DataKey>;
  /**
   * The one that a row names. Asks the database only when this node does not remember it. Throws IntegrityError when it is
   * not there or not what was wrapped.
   */
  ofVersion(place: VaultRef, version: number): Promise<DataKey>;
  /** The same inside a transaction: who waits for a second connection while holding one waits for others who do. */
  ofVersionWithin(transaction: Transaction, place: VaultRef, version: number): Promise<DataKey>;
  /** After a key was rotated or its vault purged; without an id all of them. */
  forget(vaultId?: string): void;
  /** How many this node remembers. */
  count(): number;
};

const mostRemembered = 20_000;
const rememberedMilliseconds = 5 * 60 * 1000;

export function createVaultKeys(database: Pick<Database, "askInAccount">, wrapper: KeyWrapper): VaultKeys {
  const remembered = new LRUCache<string, DataKey>({
    ...maxEntries(mostRemembered),
    ttl: rememberedMilliseconds,
  });
  const open = async (vaultId: string, row: WrappedKey): Promise<DataKey> => {
    const known = remembered.get(nameOf(vaultId, row.version));
    if (known !== undefined) return known;
    const place = vaultKeyAssociatedData(vaultId, row.version, row.kekFingerprint);
    const dataKey = describe(row.version, await wrapper.unwrap(row.wrapped, place, row.kekFingerprint));
    remembered.set(nameOf(vaultId, row.version), dataKey);
    return dataKey;
  };
  const recall = async (
    { vaultId }: VaultRef,
    version: number,
    find: () => Promise<WrappedKey | undefined>,
  ): Promise<DataKey> => {
    const known = remembered.get(nameOf(vaultId, version));
    if (known !== undefined) return known;
    const row = await find();
    if (row === undefined) throw new IntegrityError();
    return open(vaultId, row);
  };
  const add = async (transaction: Transaction, place: VaultRef, version: number): Promise<DataKey> => {
    const key = generateKey();
    const { fingerprint } = wrapper;
    const wrapped = await wrapper.wrap(key, vaultKeyAssociatedData(place.vaultId, version, fingerprint));
    await insertVaultKey(transaction, place, { version, kekFingerprint: fingerprint, wrapped });
    return describe(version, key);
  };
  return {
    create: (transaction, place) => add(transaction, place, 1),
    async rotate(transaction, place) {
      const version = await retireActiveKey(transaction, place);
      if (version === undefined) throw requestFailure({ kind: "not-found" });
      return add(transaction, place, version + 1);
    },
    async active(transaction, place) {
      const row = await findActiveKey(transaction, place);
      if (row === undefined) throw requestFailure({ kind: "not-found" });
      return open(place.vaultId, row);
    },
    ofVersion: (place, version) => recall(place, version, () => findVaultKey(database, place, version)),
    ofVersionWithin: (transaction, place, version) =>
      recall(place, version, () => findVaultKeyWithin(transaction, place, version)),
    forget(vaultId) {
      if (vaultId === undefined) remembered.clear();
      for (const name of remembered.keys()) if (name.startsWith(`${vaultId} `)) remembered.delete(name);
    },
    count: () => remembered.size,
  };
}

function nameOf(vaultId: string, version: number): string {
  return `${vaultId} ${version}`;
}

function describe(version: number, key: KeyObject): DataKey {
  return { version, key, macKey: deriveMacKey(key) };
}
