import type { KeyObject } from "node:crypto";
import { deriveMarkKey, makeKey } from "@hearth-and-keep/envelope-crypto";
import { LRUCache } from "lru-cache";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { type KeyWrapper, vaultKeyPlace } from "./key-wrapper.ts";
import { findActiveKey, findVaultKey, insertVaultKey, type WrappedKey } from "./queries.ts";

/** A vault's data key of one version. */
export type DataKey = {
  readonly version: number;
  /** Seals values and notes. */
  readonly key: KeyObject;
  /** Marks rows; derived from the key above. */
  readonly markKey: KeyObject;
};

export type VaultPlace = { readonly accountId: string; readonly vaultId: string };

/** The data keys of vaults, unwrapped when they are needed and remembered for a while. */
export type VaultKeys = {
  /** Makes and stores the first key of a new vault, in the transaction that makes the vault. */
  create(transaction: Transaction, place: VaultPlace): Promise<DataKey>;
  /** The one that new values are sealed with. */
  active(transaction: Transaction, place: VaultPlace): Promise<DataKey>;
  /** The one that a row names. Asks the database only when this node does not remember it. */
  ofVersion(place: VaultPlace, version: number): Promise<DataKey>;
  /** After a key was rotated or its vault purged. */
  forget(vaultId: string): void;
};

const mostRemembered = 20_000;
const rememberedMilliseconds = 5 * 60 * 1000;

export function createVaultKeys(database: Pick<Database, "askInAccount">, wrapper: KeyWrapper): VaultKeys {
  const remembered = new LRUCache<string, DataKey>({ max: mostRemembered, ttl: rememberedMilliseconds });
  const open = async (vaultId: string, row: WrappedKey): Promise<DataKey> => {
    const known = remembered.get(nameOf(vaultId, row.version));
    if (known !== undefined) return known;
    const place = vaultKeyPlace(vaultId, row.version, row.kekFingerprint);
    const dataKey = describe(row.version, await wrapper.unwrap(row.wrapped, place, row.kekFingerprint));
    remembered.set(nameOf(vaultId, row.version), dataKey);
    return dataKey;
  };
  return {
    async create(transaction, place) {
      const key = makeKey();
      const { fingerprint } = wrapper;
      const wrapped = await wrapper.wrap(key, vaultKeyPlace(place.vaultId, 1, fingerprint));
      await insertVaultKey(transaction, place, { version: 1, kekFingerprint: fingerprint, wrapped });
      return describe(1, key);
    },
    async active(transaction, place) {
      const row = await findActiveKey(transaction, place);
      if (row === undefined) throw requestFailure({ kind: "not-found" });
      return open(place.vaultId, row);
    },
    async ofVersion(place, version) {
      const known = remembered.get(nameOf(place.vaultId, version));
      if (known !== undefined) return known;
      const row = await findVaultKey(database, place, version);
      if (row === undefined) throw requestFailure({ kind: "integrity-broken" });
      return open(place.vaultId, row);
    },
    forget(vaultId) {
      for (const name of remembered.keys()) if (name.startsWith(`${vaultId} `)) remembered.delete(name);
    },
  };
}

function nameOf(vaultId: string, version: number): string {
  return `${vaultId} ${version}`;
}

function describe(version: number, key: KeyObject): DataKey {
  return { version, key, markKey: deriveMarkKey(key) };
}
