import type { DatabaseSync, StatementSync } from "node:sqlite";
import type {
  Decision,
  KeyStore,
  KeyUsage,
  LimitName,
  RequestRef,
  Reservation,
  StoreOptions,
} from "./key-store.ts";
import { minute, retentionMilliseconds } from "./key-store.ts";
import { openSqlite } from "./open-sqlite.ts";
import { SqliteLedger } from "./sqlite-ledger.ts";
import {
  changedColumns,
  changedValuesOf,
  type KeyRow,
  keyColumns,
  type LimitRow,
  limitColumns,
  readKey,
  readLimits,
  valuesOf,
} from "./stored-rows.ts";
import {
  interruptedEntry,
  type KeyedEntry,
  type RecordQuery,
  type SettledUse,
  type SumQuery,
  tokensOf,
  type UsageRecord,
  type UsageSum,
} from "./usage-ledger.ts";
import { decide, findExceeded, type KeyState, type WindowState } from "./window-state.ts";

/**
 * All that is known of a key, in one statement. Every request that counts for the window is in one of two ranges of the index:
 * it has ended since the window began (?2), or still runs. Only running ones up to a number (?3) count as running; as a
 * condition, this would make SQLite read all rows of the key in the order of their numbers.
 */
export const selectState: string = `SELECT ${limitColumns.join(", ")}, last_number, day, day_tokens, month, month_tokens,
    ended.started + open.started AS requests, ended.tokens AS settled_tokens, running, open.tokens AS held_tokens,
    (SELECT started_at FROM key_request WHERE key_id = ?1 AND number = last_number) AS newest_start,
    (SELECT max(settled_at) FROM key_request WHERE key_id = ?1) AS newest_settled
  FROM access_key JOIN key_state ON key_id = id,
    (SELECT count(*) FILTER (WHERE started_at > ?2) AS started, coalesce(sum(tokens), 0) AS tokens
      FROM key_request WHERE key_id = ?1 AND settled_at > ?2) AS ended,
    (SELECT count(*) FILTER (WHERE started_at > ?2) AS started, count(*) FILTER (WHERE number <= ?3) AS running,
      coalesce(sum(tokens) FILTER (WHERE number <= ?3), 0) AS tokens
      FROM key_request WHERE key_id = ?1 AND settled_at IS NULL) AS open
  WHERE id = ?1`;

const statements = {
  begin: "BEGIN IMMEDIATE",
  commit: "COMMIT",
  rollback: "ROLLBACK",
  dataVersion: "PRAGMA data_version",
  version: "SELECT version FROM key_version",
  changeVersion: "UPDATE key_version SET version = version + 1",
  list: `SELECT ${keyColumns.join(", ")} FROM access_key ORDER BY created_at, name`,
  insert: `INSERT INTO access_key (${keyColumns.join(", ")}) VALUES (${keyColumns.map(() => "?").join(", ")}) ON CONFLICT (name) DO NOTHING`,
  insertState: "INSERT INTO key_state (key_id) VALUES (?)",
  update: `UPDATE access_key SET ${changedColumns.map((column) => `${column} = ?`).join(", ")} WHERE id = ?`,
  state: selectState,
  start: "SELECT started_at FROM key_request WHERE key_id = ? AND number = ?",
  freed: `SELECT settled_at FROM (SELECT settled_at, sum(tokens) OVER (ORDER BY settled_at, number) AS freed
    FROM key_request WHERE key_id = ? AND settled_at > ?) WHERE freed >= ? ORDER BY settled_at LIMIT 1`,
  add: "INSERT INTO key_request (key_id, number, node, started_at, tokens, input_tokens) VALUES (?, ?, ?, ?, ?, ?)",
  number: "UPDATE key_state SET last_number = ? WHERE key_id = ?",
  grow: "UPDATE key_request SET tokens = tokens + ? WHERE key_id = ? AND number = ? AND settled_at IS NULL",
  settle:
    "UPDATE key_request SET tokens = ?, settled_at = ? WHERE key_id = ? AND number = ? AND settled_at IS NULL",
  spend: `UPDATE key_state SET
    day_tokens = ? + CASE WHEN day = ? THEN day_tokens ELSE 0 END, day = ?,
    month_tokens = ? + CASE WHEN month = ? THEN month_tokens ELSE 0 END, month = ? WHERE key_id = ?`,
  live: "INSERT INTO node (id, alive_until) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until",
  abandoned: `SELECT key_id, number, started_at, tokens, input_tokens FROM key_request INDEXED BY key_request_window
    WHERE key_id IN (SELECT id FROM access_key) AND settled_at IS NULL
    AND node NOT IN (SELECT id FROM node WHERE alive_until > ?)`,
  purge: "DELETE FROM key_request WHERE key_id IN (SELECT id FROM access_key) AND settled_at < ?",
  forgetNodes: "DELETE FROM node WHERE alive_until < ?",
} as const;

type Statements = Readonly<Record<keyof typeof statements, StatementSync>>;

/** Calls take some ten microseconds, so they run in this thread. */
export function openSqliteStore(path: string, options: StoreOptions = {}): KeyStore {
  return new SqliteStore(openSqlite(path), options);
}

class SqliteStore implements KeyStore {
  readonly #database: DatabaseSync;
  readonly #run: Statements;
  readonly #ledger: SqliteLedger;
  readonly #width: number;
  readonly #retention: number | undefined;
  #knownVersion: { readonly dataVersion: number; readonly version: number } | undefined;

  constructor(database: DatabaseSync, { windowMilliseconds, usageRetentionMilliseconds }: StoreOptions) {
    this.#database = database;
    this.#ledger = new SqliteLedger(database);
    this.#width = windowMilliseconds ?? minute;
    this.#retention = usageRetentionMilliseconds;
    // Every statement of the list is prepared under its own name.
    this.#run = Object.fromEntries(
      Object.entries(statements).map(([name, sql]) => [name, database.prepare(sql)]),
    ) as Statements;
  }

  /** SQLite counts the commits of other connections in memory; the table is read only after one. */
  async version(): Promise<number> {
    const dataVersion = Number(this.#run.dataVersion.get()?.["data_version"]);
    if (this.#knownVersion?.dataVersion !== dataVersion) {
      this.#knownVersion = { dataVersion, version: Number(this.#run.version.get()?.["version"]) };
    }
    return this.#knownVersion.version;
  }

  async list() {
    // The columns of the statement are those of the type.
    return (this.#run.list.all() as unknown as readonly KeyRow[]).map(readKey);
  }

  async insert(key: Parameters<KeyStore["insert"]>[0]): Promise<boolean> {
    return this.#transact(() => {
      const { changes } = this.#run.insert.run(...valuesOf(key));
      if (Number(changes) === 0) return false;
      this.#run.insertState.run(key.id);
      this.#changeVersion();
      return true;
    });
  }

  async update(key: Parameters<KeyStore["update"]>[0]): Promise<void> {
    this.#transact(() => {
      this.#run.update.run(...changedValuesOf(key), key.id);
      this.#changeVersion();
    });
  }

  async reserve(
    keyId: string,
    node: string,
    { tokens, inputTokens }: Reservation,
  ): Promise<Decision | undefined> {
    return this.#transact(() => {
      const state = this.#readState(keyId);
      if (state === undefined) return undefined;
      const number = state.lastNumber + 1;
      const decision = decide(state, { tokens, number, isNew: true });
      if (decision.denied !== undefined) return decision;
      this.#run.add.run(keyId, number, node, state.now, tokens, inputTokens ?? null);
      this.#run.number.run(number, keyId);
      return decision;
    });
  }

  async grow({ keyId, number }: RequestRef, tokens: number): Promise<Decision | undefined> {
    return this.#transact(() => {
      const state = this.#readState(keyId);
      if (state === undefined) return undefined;
      const decision = decide(state, { tokens, number, isNew: false });
      if (decision.denied === undefined) this.#run.grow.run(tokens, keyId, number);
      return decision;
    });
  }

  async settle(request: RequestRef, used: SettledUse): Promise<void> {
    this.#transact(() => this.#settle(request, used));
  }

  async record(entries: readonly KeyedEntry[]): Promise<void> {
    this.#transact(() => {
      const now = Date.now();
      for (const each of entries) {
        if (each.key.id !== undefined) this.#spend(each.key.id, tokensOf(each.entry), now);
        this.#ledger.add(each, now);
      }
    });
  }

  async sumUsage(query: SumQuery): Promise<readonly UsageSum[]> {
    return this.#ledger.sum(query);
  }

  async listUsage(query: RecordQuery): Promise<readonly UsageRecord[]> {
    return this.#ledger.list(query);
  }

  async findExceeded({ keyId, number }: RequestRef): Promise<LimitName | undefined> {
    const state = this.#readState(keyId, number);
    return state === undefined ? undefined : findExceeded(state.limits, usageOf(state));
  }

  async usage(keyId: string): Promise<KeyUsage> {
    return usageOf(this.#readState(keyId));
  }

  async renew(node: string, leaseMilliseconds: number): Promise<void> {
    this.#transact(() => {
      const now = Date.now();
      this.#run.live.run(node, now + leaseMilliseconds);
      for (const row of this.#run.abandoned.all(now)) {
        const request = { keyId: String(row["key_id"]), number: Number(row["number"]) };
        this.#settle(request, chargeInFull(row, now));
      }
      this.#run.purge.run(now - this.#width - retentionMilliseconds);
      if (this.#retention !== undefined) this.#ledger.purge(now - this.#retention);
      this.#run.forgetNodes.run(now - retentionMilliseconds);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#database.close();
  }

  /** One's own commits do not change SQLite's counter. */
  #changeVersion(): void {
    this.#run.changeVersion.run();
    this.#knownVersion = undefined;
  }

  #settle({ keyId, number }: RequestRef, used: SettledUse): void {
    const now = Date.now();
    const tokens = tokensOf(used);
    const { changes } = this.#run.settle.run(tokens, now, keyId, number);
    if (Number(changes) === 0) return;
    this.#spend(keyId, tokens, now);
    if (typeof used === "number") return;
    this.#ledger.add({ key: { id: keyId, name: this.#ledger.nameOf(keyId) }, entry: used }, now);
  }

  #spend(keyId: string, tokens: number, now: number): void {
    const day = new Date(now).toISOString().slice(0, 10);
    const month = day.slice(0, 7);
    this.#run.spend.run(tokens, day, day, tokens, month, month, keyId);
  }

  /** With a number, only the running requests up to that one are counted. */
  #readState(keyId: string, number: number = Number.MAX_SAFE_INTEGER): WindowState | undefined {
    const now = Date.now();
    const from = now - this.#width;
    const row = this.#run.state.get(keyId, from, number);
    if (row === undefined) return undefined;
    const heldTokens = Number(row["held_tokens"]);
    const budgets = readBudgets(row, { now, held: heldTokens });
    return {
      ...budgets,
      now,
      width: this.#width,
      // The columns of the statement are those of the type.
      limits: readLimits(row as unknown as LimitRow),
      requests: Number(row["requests"]),
      newestStart: toNumber(row["newest_start"]),
      settledTokens: Number(row["settled_tokens"]),
      newestSettled: toNumber(row["newest_settled"]),
      running: Number(row["running"]),
      heldTokens,
      findStart: (position) =>
        toNumber(this.#run.start.get(keyId, budgets.lastNumber - position)?.["started_at"]),
      findFreed: (tokens) => toNumber(this.#run.freed.get(keyId, from, tokens)?.["settled_at"]),
    };
  }

  #transact<Result>(work: () => Result): Result {
    this.#run.begin.run();
    try {
      const result = work();
      this.#run.commit.run();
      return result;
    } catch (error) {
      this.#run.rollback.run();
      throw error;
    }
  }
}

function usageOf(state: WindowState | undefined): KeyUsage {
  return {
    requestsInWindow: state?.requests ?? 0,
    tokensInWindow: (state?.settledTokens ?? 0) + (state?.heldTokens ?? 0),
    running: state?.running ?? 0,
    tokensToday: state?.dayTokens ?? 0,
    tokensThisMonth: state?.monthTokens ?? 0,
  };
}

type Row = Readonly<Record<string, unknown>>;

function chargeInFull(row: Row, now: number): SettledUse {
  const tokens = Number(row["tokens"]);
  const inputTokens = toNumber(row["input_tokens"]);
  if (inputTokens === undefined) return tokens;
  return interruptedEntry({ tokens, inputTokens, startedAt: Number(row["started_at"]), now });
}

function readBudgets(row: Row, { now, held }: { readonly now: number; readonly held: number }): KeyState {
  const day = new Date(now).toISOString().slice(0, 10);
  const spentIn = (period: string, current: string): number =>
    row[period] === current ? Number(row[`${period}_tokens`]) : 0;
  return {
    lastNumber: Number(row["last_number"]),
    dayTokens: held + spentIn("day", day),
    monthTokens: held + spentIn("month", day.slice(0, 7)),
  };
}

function toNumber(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}
