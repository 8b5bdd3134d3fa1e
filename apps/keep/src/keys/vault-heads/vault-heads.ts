import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { IntegrityError } from "@hearth-and-keep/envelope-crypto";
import { LRUCache } from "lru-cache";
import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import { requestFailure } from "../../failures.ts";
import type { VaultRef } from "../vault-ref.ts";
import { type HeadedVault, type HeadSeal, wrapSum } from "./head-seal.ts";
import {
  type HeadRow,
  lockVaultIds,
  readHeadInAccount,
  readHeadInTransaction,
  storeHead,
} from "./queries.ts";

/** A secret's row as read, with the revision that its vault had at the time. */
type ReadRevision = {
  readonly id: string;
  readonly revision: number;
  readonly vault_revision: number;
};

/**
 * The verified heads of the vaults in use: what each secret's revision must be. A vault that is older in the database
 * than here was put back as a whole.
 */
export type VaultHeads = {
  /**
   * Throws IntegrityError unless the row is the last one that Keep stored in a live vault. Also thrown for a row that was
   * read before a change which this node knows of: the caller reads it again, and gives up if nothing has changed since.
   */
  assertCurrent(vaultRef: VaultRef, row: ReadRevision): Promise<void>;
  /** As `assertCurrent`, also for a deleted vault, in a transaction that has locked it. */
  assertCurrentWithin(transaction: Transaction, vaultRef: VaultRef, row: ReadRevision): Promise<void>;
  /** Verifies the head of a vault whose row the transaction has locked, to update it; else throws "integrity-broken". */
  beginChange(transaction: Transaction, vaultRef: VaultRef, vault: LockedVault): Promise<HeadChange>;
  /** Throws "integrity-broken" unless the vault's row has the columns that its head was sealed with. */
  assertGenuine(vaultRef: VaultRef, vault: LockedVault): void;
  /** The head of a new vault. */
  sealEmpty(vaultRef: VaultRef, vault: HeadedVault): Buffer;
  /**
   * The head of a locked vault for another account, to which it goes with all its rows. Throws "integrity-broken" unless it
   * covers the secrets as they are stored.
   */
  sealForTransfer(transaction: Transaction, transfer: HeadTransfer): Promise<TransferredHead>;
};

type HeadTransfer = { readonly from: VaultRef; readonly to: VaultRef; readonly revision: number };

type TransferredHead = {
  readonly head: Buffer;
  /** How many secrets it covers. */
  readonly secrets: number;
};

type LockedVault = HeadedVault & { readonly head: Buffer | null };

/** The head of a vault that is being changed. */
export type HeadChange = {
  /** Throws IntegrityError unless it is the secret's last revision. */
  assertCurrent(row: Pick<ReadRevision, "id" | "revision">): void;
  /** Undefined removes the secret. */
  setRevision(secretId: string, revision: number | undefined): void;
  /** The head after the change; remembered once the transaction has committed. */
  seal(vault: HeadedVault): Buffer;
};

type Head = {
  revision: number;
  isDeleted: boolean;
  sum: bigint;
  /** By the ids of the secrets. */
  readonly revisions: Map<string, number>;
};

/** Over all cached vaults; about 20 MB. */
const maxCachedRevisions = 200_000;
/** Hashes computed before other requests get a turn. */
const hashesPerTurn = 200;

type HeadCache = {
  /** The head as this node last saw it. */
  get(vaultRef: VaultRef): Head | undefined;
  set(vaultRef: VaultRef, head: Head): void;
  /** Loads and verifies the head; throws IntegrityError. */
  load(vaultRef: VaultRef): Promise<Head>;
  loadWithin(transaction: Transaction, vaultRef: VaultRef): Promise<Head>;
};

function createHeadCache(database: Pick<Database, "queryInAccount">, seal: HeadSeal): HeadCache {
  const cache = new LRUCache<string, Head>({
    maxSize: maxCachedRevisions,
    maxEntrySize: maxCachedRevisions,
    sizeCalculation: ({ revisions }) => revisions.size + 1,
  });
  const verify = async (vaultRef: VaultRef, row: HeadRow | undefined): Promise<Head> => {
    if (row === undefined) throw new IntegrityError();
    const expected = seal.open(vaultRef, row, row.head);
    const head = await sumRevisions({ seal, vaultRef, row, known: cache.get(cacheKey(vaultRef)) });
    if (head.sum !== expected) throw new IntegrityError();
    const cached = cache.get(cacheKey(vaultRef));
    // A concurrent change may have stored a newer one.
    if (cached === undefined || cached.revision <= head.revision) cache.set(cacheKey(vaultRef), head);
    return head;
  };
  return {
    get: (vaultRef) => cache.get(cacheKey(vaultRef)),
    set: (vaultRef, head) => void cache.set(cacheKey(vaultRef), head),
    async load(vaultRef) {
      const statement = readHeadInAccount(vaultRef);
      const [row] = await database.queryInAccount<HeadRow>(vaultRef.accountId, statement);
      return verify(vaultRef, row);
    },
    async loadWithin(transaction, vaultRef) {
      const [row] = await transaction.query<HeadRow>(readHeadInTransaction(vaultRef));
      return verify(vaultRef, row);
    },
  };
}

export function createVaultHeads(database: Pick<Database, "queryInAccount">, seal: HeadSeal): VaultHeads {
  const cache = createHeadCache(database, seal);
  const findHead = async (vaultRef: VaultRef, minRevision: number, loadNow: () => Promise<Head>) => {
    const known = cache.get(vaultRef);
    const isKnown = known !== undefined && known.revision >= minRevision;
    return { isKnown, head: isKnown ? known : await loadNow() };
  };
  const check = async (
    vaultRef: VaultRef,
    row: ReadRevision,
    loadNow: () => Promise<Head>,
  ): Promise<Head> => {
    const { isKnown, head } = await findHead(vaultRef, row.vault_revision, loadNow);
    // One that was loaded after the row was read may be newer than it.
    const isInTime = isKnown ? head.revision === row.vault_revision : head.revision >= row.vault_revision;
    if (!isInTime || head.revisions.get(row.id) !== row.revision) throw new IntegrityError();
    return head;
  };
  return {
    async assertCurrent(vaultRef, row) {
      const { isDeleted } = await check(vaultRef, row, () => cache.load(vaultRef));
      if (isDeleted) throw new IntegrityError();
    },
    async assertCurrentWithin(transaction, vaultRef, row) {
      await check(vaultRef, row, () => cache.loadWithin(transaction, vaultRef));
    },
    assertGenuine(vaultRef, vault) {
      try {
        seal.open(vaultRef, vault, vault.head);
      } catch (error) {
        throw asFailure(error);
      }
    },
    async beginChange(transaction, vaultRef, vault) {
      const loadNow = () => cache.loadWithin(transaction, vaultRef);
      try {
        const { head } = await findHead(vaultRef, vault.revision, loadNow);
        const isStored = seal.open(vaultRef, vault, vault.head) === head.sum;
        if (!isStored || head.revision !== vault.revision) throw new IntegrityError();
        return changeHead(head, { seal, vaultRef, transaction, cache });
      } catch (error) {
        throw asFailure(error);
      }
    },
    sealEmpty: (vaultRef, vault) => seal.seal(vaultRef, vault, 0n),
    async sealForTransfer(transaction, { from, to, revision }) {
      const [row] = await transaction.query<HeadRow>(readHeadInTransaction(from));
      if (row === undefined) throw requestFailure({ kind: "not-found" });
      try {
        const { sum } = await sumRevisions({ seal, vaultRef: from, row, known: undefined });
        if (seal.open(from, row, row.head) !== sum) throw new IntegrityError();
      } catch (error) {
        throw asFailure(error);
      }
      const moved = await sumRevisions({ seal, vaultRef: to, row, known: undefined });
      return { head: seal.seal(to, { ...row, revision }, moved.sum), secrets: moved.revisions.size };
    },
  };
}

function asFailure(error: unknown): unknown {
  if (!(error instanceof IntegrityError)) return error;
  return requestFailure({ kind: "integrity-broken" }, { cause: error });
}

/** Takes the vaults of an account as they are, once, when an older database is upgraded. Returns their number. */
export async function sealAsFound(
  transaction: Transaction,
  accountId: string,
  seal: HeadSeal,
): Promise<number> {
  const vaultIds = await lockVaultIds(transaction, accountId);
  for (const vaultId of vaultIds) {
    const vaultRef = { accountId, vaultId };
    const [row] = await transaction.query<HeadRow>(readHeadInTransaction(vaultRef));
    if (row === undefined) continue;
    const { sum } = await sumRevisions({ seal, vaultRef, row, known: undefined });
    await storeHead(transaction, vaultRef, seal.seal(vaultRef, row, sum));
  }
  return vaultIds.length;
}

export type CheckedHead = {
  readonly revision: number;
  /** Whether the vault's row is as Keep sealed it. */
  readonly isGenuine: boolean;
  /** Whether the secrets are those that the head covers. */
  readonly coversSecrets: boolean;
};

/** Verifies the head of a vault as stored; undefined when the vault does not exist. */
export async function checkHead(
  database: Pick<Database, "queryInAccount">,
  vaultRef: VaultRef,
  seal: HeadSeal,
): Promise<CheckedHead | undefined> {
  const [row] = await database.queryInAccount<HeadRow>(vaultRef.accountId, readHeadInAccount(vaultRef));
  if (row === undefined) return undefined;
  const { revision } = row;
  const { sum } = await sumRevisions({ seal, vaultRef, row, known: undefined });
  try {
    return { revision, isGenuine: true, coversSecrets: seal.open(vaultRef, row, row.head) === sum };
  } catch (error) {
    if (error instanceof IntegrityError) return { revision, isGenuine: false, coversSecrets: false };
    throw error;
  }
}

/** Names the account too: a vault that was moved to another one must not find its head. */
function cacheKey({ accountId, vaultId }: VaultRef): string {
  return `${vaultId} ${accountId}`;
}

type SumSources = {
  readonly seal: HeadSeal;
  readonly vaultRef: VaultRef;
  readonly row: HeadRow;
  /** Secrets with the same revision as here are not hashed again. */
  readonly known: Head | undefined;
};

async function sumRevisions({ seal, vaultRef, row, known }: SumSources): Promise<Head> {
  const found = new Map(row.ids?.map((id, index) => [id, row.revisions?.[index] ?? 0]));
  const before = known?.revisions ?? new Map<string, number>();
  const added = [...found].filter(([id, revision]) => before.get(id) !== revision);
  const removed = [...before].filter(([id, revision]) => found.get(id) !== revision);
  // Read before the first pause, because a commit may update `known` meanwhile.
  let sum = known?.sum ?? 0n;
  const add = async (secrets: readonly (readonly [string, number])[], sign: 1n | -1n): Promise<void> => {
    for (const [index, [id, revision]] of secrets.entries()) {
      if (index % hashesPerTurn === hashesPerTurn - 1) await yieldToEventLoop();
      sum += sign * seal.hashOf(vaultRef, id, revision);
    }
  };
  await add(added, 1n);
  await add(removed, -1n);
  return {
    revision: row.revision,
    isDeleted: row.deleted_at !== null,
    sum: wrapSum(sum),
    revisions: found,
  };
}

type HeadChangeSources = {
  readonly seal: HeadSeal;
  readonly vaultRef: VaultRef;
  readonly transaction: Transaction;
  readonly cache: HeadCache;
};

function changeHead(head: Head, { seal, vaultRef, transaction, cache }: HeadChangeSources): HeadChange {
  const { revision: revisionBefore } = head;
  const changes = new Map<string, number | undefined>();
  let { sum } = head;
  const revisionOf = (id: string): number | undefined =>
    changes.has(id) ? changes.get(id) : head.revisions.get(id);
  return {
    assertCurrent({ id, revision }) {
      if (revisionOf(id) !== revision) throw new IntegrityError();
    },
    setRevision(id, revision) {
      const before = revisionOf(id);
      if (before !== undefined) sum -= seal.hashOf(vaultRef, id, before);
      if (revision !== undefined) sum += seal.hashOf(vaultRef, id, revision);
      changes.set(id, revision);
    },
    seal(vault) {
      sum = wrapSum(sum);
      transaction.afterCommit(() => {
        const cached = cache.get(vaultRef);
        // Otherwise the next use loads it.
        if (cached?.revision !== revisionBefore) return;
        for (const [id, revision] of changes) {
          if (revision === undefined) cached.revisions.delete(id);
          else cached.revisions.set(id, revision);
        }
        cached.revision = vault.revision;
        cached.isDeleted = vault.deleted_at !== null;
        cached.sum = sum;
        // The size may have changed.
        cache.set(vaultRef, cached);
      });
      return seal.seal(vaultRef, vault, sum);
    },
  };
}
