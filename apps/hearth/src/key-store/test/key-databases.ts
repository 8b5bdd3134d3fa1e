/**
 * @module
 * Both databases of keys for tests, with a short window, so that tests need not wait for a minute.
 * Imported by the tests of `key-store/` and `accounting/`, and by `conformance/`.
 */
import { join } from "node:path";
import { acquireDatabase, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { type CreatedKey, createKey, type KeySettings } from "../create-key.ts";
import type { KeyStore, StoreOptions } from "../key-store.ts";
import { openPostgresStore } from "../postgres-store.ts";
import { openSqliteStore } from "../sqlite-store.ts";

export type KeyDatabase = AsyncDisposable & {
  /** Another connection, as another process has it; the caller closes it. */
  readonly open: () => Promise<KeyStore>;
  /** For processes. */
  readonly address: string;
};

export type Backend = "sqlite" | "postgres";

export const backends: readonly Backend[] = ["sqlite", "postgres"];

export async function createKeyDatabase(
  backend: Backend,
  windowMilliseconds: number,
  others: StoreOptions = {},
): Promise<KeyDatabase> {
  const options = { ...others, windowMilliseconds };
  if (backend === "postgres") {
    const database = await acquireDatabase({ name: "no keys", prepare: async () => undefined });
    return {
      open: () => openPostgresStore(database.url, options),
      address: database.url,
      [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
    };
  }
  const folder = await makeTemporaryFolder("keys");
  const address = join(folder.path, "keys.sqlite");
  return {
    open: async () => openSqliteStore(address, options),
    address,
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

export async function addKey(store: KeyStore, settings: Partial<KeySettings> = {}): Promise<CreatedKey> {
  const created = createKey({ name: "alice", role: "inference", priority: 0, ...settings });
  if (!(await store.insert(created.key))) throw new Error(`Cannot add "${created.key.name}" twice`);
  return created;
}

/** Something that was used between two moments, as its client saw it. */
export type Use = { readonly from: number; readonly to: number; readonly amount: number };

/** Clocks of two processes are compared in whole milliseconds. */
const roundingMilliseconds = 2;

/**
 * The most that was certainly used within one window of this width, over all windows: the sum of what began and ended
 * in it. The windows that begin with a use are enough.
 */
export function findFullest(uses: readonly Use[], width: number): number {
  const sums = uses.map(({ from }) =>
    uses
      .filter((other) => other.from >= from && other.to < from + width - roundingMilliseconds)
      .reduce((sum, { amount }) => sum + amount, 0),
  );
  return Math.max(0, ...sums);
}
