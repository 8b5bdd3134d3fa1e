import { Client, Pool, type PoolClient } from "pg";
import {
  type Decision,
  type KeyLimits,
  type KeyStore,
  type KeyUsage,
  type LimitName,
  minute,
  type RequestRef,
  type Reservation,
  retentionMilliseconds,
  type StoredKey,
  type StoreOptions,
} from "./key-store.ts";
import { PostgresLedger } from "./postgres-ledger.ts";
import { postgresMigrations } from "./postgres-schema.ts";
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
  waitFor,
} from "./stored-rows.ts";
import type { KeyedEntry, RecordQuery, SettledUse, SumQuery, UsageRecord, UsageSum } from "./usage-ledger.ts";
import { findExceeded } from "./window-state.ts";

const channel = "hearth_keys";
const connections = 8;
const timeoutMilliseconds = 5000;
/** An arbitrary number, the same in every version of Hearth. */
const advisoryLockId = 4_711_300_828;

/** Rejects if the database cannot be reached. */
export async function openPostgresStore(url: string, options: StoreOptions = {}): Promise<KeyStore> {
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: timeoutMilliseconds,
    statement_timeout: timeoutMilliseconds,
    query_timeout: timeoutMilliseconds,
    keepAlive: true,
    application_name: "hearth",
  });
  // The pool replaces a broken idle connection; without a listener the error event would crash the process.
  pool.on("error", ignore);
  pool.on("connect", (client) => void client.on("error", ignore));
  try {
    await migrate(pool);
  } catch (error) {
    await pool.end();
    throw error;
  }
  return new PostgresStore(pool, url, options);
}

/** The lock allows several nodes to start at once. */
async function migrate(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [advisoryLockId]);
    await client.query("CREATE TABLE IF NOT EXISTS hearth_schema (number integer PRIMARY KEY)");
    const { rows } = await client.query<{ count: string }>("SELECT count(*) FROM hearth_schema");
    const applied = Number(rows[0]?.count);
    if (applied > postgresMigrations.length) throw new Error("it was written by a newer version of Hearth");
    for (const [index, migration] of postgresMigrations.entries()) {
      if (index >= applied) await applyMigration(client, { migration, number: index + 1 });
    }
  } finally {
    // Closing the connection releases the lock, also after an error.
    client.release(true);
  }
}

type NumberedMigration = { readonly migration: string; readonly number: number };

async function applyMigration(client: PoolClient, { migration, number }: NumberedMigration): Promise<void> {
  await client.query("BEGIN");
  await client.query(migration);
  await client.query("INSERT INTO hearth_schema VALUES ($1)", [number]);
  await client.query("COMMIT");
}

/** What `hearth_reserve` returns. */
type ReservedRow = Readonly<Record<LimitName, number | null>> & {
  readonly number: number;
  readonly denied: LimitName | null;
  readonly wait: number | null;
  readonly moment: number;
  readonly requests: number;
  readonly tokens: number;
  readonly requestsReset: number;
  readonly tokensReset: number;
};

type Query = { readonly name: string; readonly text: string };

const reserve: Query = {
  name: "hearth-reserve",
  text: "SELECT hearth_reserve_input($1, $2, $3, $4, $5, $6) AS reserved",
};
const settle: Query = { name: "hearth-settle", text: "SELECT hearth_settle($1, $2, $3)" };
const settleUsage: Query = { name: "hearth-settle-usage", text: "SELECT hearth_settle_usage($1, $2, $3)" };
const version: Query = { name: "hearth-version", text: "SELECT version FROM hearth_key_version" };
const changeVersion = `UPDATE hearth_key_version SET version = version + 1`;

class PostgresStore implements KeyStore {
  readonly #pool: Pool;
  readonly #ledger: PostgresLedger;
  readonly #url: string;
  readonly #width: number;
  readonly #retention: number | undefined;
  #listener: Client | undefined;
  #isClosed = false;

  constructor(pool: Pool, url: string, { windowMilliseconds, usageRetentionMilliseconds }: StoreOptions) {
    this.#pool = pool;
    this.#ledger = new PostgresLedger(pool);
    this.#url = url;
    this.#width = windowMilliseconds ?? minute;
    this.#retention = usageRetentionMilliseconds;
  }

  async version(): Promise<number> {
    const { rows } = await this.#pool.query<{ version: string }>(version);
    return Number(rows[0]?.version);
  }

  async list(): Promise<readonly StoredKey[]> {
    const { rows } = await this.#pool.query<KeyRow>(
      `SELECT ${keyColumns.join(", ")} FROM hearth_access_key ORDER BY created_at, name`,
    );
    return rows.map(readKey);
  }

  insert(key: StoredKey): Promise<boolean> {
    const places = keyColumns.map((_, index) => `$${index + 1}`).join(", ");
    return this.#change(async (client) => {
      const { rowCount } = await client.query(
        `INSERT INTO hearth_access_key (${keyColumns.join(", ")}) VALUES (${places}) ON CONFLICT (name) DO NOTHING`,
        [...valuesOf(key)],
      );
      if (rowCount === 0) return false;
      await client.query("INSERT INTO hearth_key_state (key_id) VALUES ($1)", [key.id]);
      return true;
    });
  }

  async update(key: StoredKey): Promise<void> {
    const changes = changedColumns.map((column, index) => `${column} = $${index + 2}`).join(", ");
    await this.#change(async (client) => {
      await client.query(`UPDATE hearth_access_key SET ${changes} WHERE id = $1`, [
        key.id,
        ...changedValuesOf(key),
      ]);
      return true;
    });
  }

  reserve(keyId: string, node: string, { tokens, inputTokens }: Reservation): Promise<Decision | undefined> {
    return this.#reserve([keyId, node, tokens, null, this.#width, inputTokens ?? null]);
  }

  grow({ keyId, number }: RequestRef, tokens: number): Promise<Decision | undefined> {
    return this.#reserve([keyId, "", tokens, number, this.#width, null]);
  }

  async settle({ keyId, number }: RequestRef, used: SettledUse): Promise<void> {
    const query = typeof used === "number" ? settle : settleUsage;
    const value = typeof used === "number" ? used : JSON.stringify(used);
    await this.#pool.query({ ...query, values: [keyId, number, value] });
  }

  record(entries: readonly KeyedEntry[]): Promise<void> {
    return this.#ledger.record(entries);
  }

  sumUsage(query: SumQuery): Promise<readonly UsageSum[]> {
    return this.#ledger.sum(query);
  }

  listUsage(query: RecordQuery): Promise<readonly UsageRecord[]> {
    return this.#ledger.list(query);
  }

  async findExceeded({ keyId, number }: RequestRef): Promise<LimitName | undefined> {
    const { limits, usage } = await this.#readUsage(keyId, number);
    return findExceeded(limits, usage);
  }

  async usage(keyId: string): Promise<KeyUsage> {
    return (await this.#readUsage(keyId, Number.MAX_SAFE_INTEGER)).usage;
  }

  async renew(node: string, leaseMilliseconds: number): Promise<void> {
    await this.#pool.query(
      "INSERT INTO hearth_node VALUES ($1, hearth_now() + $2) ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until",
      [node, leaseMilliseconds],
    );
    await this.#settleAbandoned();
    await this.#pool.query("DELETE FROM hearth_key_request WHERE settled_at < hearth_now() - $1::bigint", [
      this.#width + retentionMilliseconds,
    ]);
    await this.#pool.query("DELETE FROM hearth_node WHERE alive_until < hearth_now() - $1::bigint", [
      retentionMilliseconds,
    ]);
    if (this.#retention !== undefined) await this.#ledger.purge(this.#retention);
  }

  /** On a connection of its own, which is opened again when it breaks; polling covers the time between. */
  async listen(onChange: () => void): Promise<void> {
    const client = new Client({ connectionString: this.#url, keepAlive: true, application_name: "hearth" });
    client.on("error", ignore);
    client.on("notification", onChange);
    client.on("end", () => {
      if (!this.#isClosed)
        setTimeout(() => void this.listen(onChange).catch(ignore), timeoutMilliseconds).unref();
    });
    this.#listener = client;
    await client.connect();
    await client.query(`LISTEN ${channel}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#listener?.end().catch(ignore);
    await this.#pool.end();
  }

  /** Each in a transaction of its own, so that two nodes that do so never wait for each other's keys. */
  async #settleAbandoned(): Promise<void> {
    const { rows } = await this.#pool.query<{ key_id: string; number: string }>(
      `SELECT key_id, number FROM hearth_key_request WHERE settled_at IS NULL
       AND node NOT IN (SELECT id FROM hearth_node WHERE alive_until > hearth_now())`,
    );
    for (const { key_id: keyId, number } of rows) {
      await this.#pool.query({ ...settleUsage, values: [keyId, number, null] });
    }
  }

  async #reserve(values: readonly (string | number | null)[]): Promise<Decision | undefined> {
    const { rows } = await this.#pool.query<{ reserved: ReservedRow | null }>({
      ...reserve,
      values: [...values],
    });
    const reserved = rows[0]?.reserved;
    return reserved === null || reserved === undefined ? undefined : readDecision(reserved);
  }

  /** Commits a change of keys with its version, and notifies the other nodes. */
  async #change(work: (client: PoolClient) => Promise<boolean>): Promise<boolean> {
    const client = await this.#pool.connect();
    try {
      await client.query("BEGIN");
      const hasChanged = await work(client);
      if (hasChanged) {
        await client.query(changeVersion);
        await client.query(`NOTIFY ${channel}`);
      }
      await client.query("COMMIT");
      client.release();
      return hasChanged;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  async #readUsage(keyId: string, number: number): Promise<{ limits: KeyLimits; usage: KeyUsage }> {
    const { rows } = await this.#pool.query<LimitRow & Readonly<Record<keyof KeyUsage, string>>>(usageQuery, [
      keyId,
      number,
      this.#width,
    ]);
    const [row] = rows;
    return {
      limits: row === undefined ? {} : readLimits(row),
      usage: {
        requestsInWindow: Number(row?.requestsInWindow ?? 0),
        tokensInWindow: Number(row?.tokensInWindow ?? 0),
        running: Number(row?.running ?? 0),
        tokensToday: Number(row?.tokensToday ?? 0),
        tokensThisMonth: Number(row?.tokensThisMonth ?? 0),
      },
    };
  }
}

const usageQuery = `
  WITH used AS (
    SELECT
      count(*) FILTER (WHERE started_at > hearth_now() - $3::bigint) AS requests,
      coalesce(sum(tokens) FILTER (WHERE settled_at > hearth_now() - $3::bigint), 0) AS settled,
      count(*) FILTER (WHERE settled_at IS NULL AND number <= $2) AS running,
      coalesce(sum(tokens) FILTER (WHERE settled_at IS NULL AND number <= $2), 0) AS held
    FROM hearth_key_request WHERE key_id = $1
  )
  SELECT ${limitColumns.join(", ")}, requests AS "requestsInWindow", settled + held AS "tokensInWindow", running AS "running",
    held + CASE WHEN day = to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD') THEN day_tokens ELSE 0 END AS "tokensToday",
    held + CASE WHEN month = to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM') THEN month_tokens ELSE 0 END AS "tokensThisMonth"
  FROM hearth_access_key JOIN hearth_key_state ON key_id = id CROSS JOIN used WHERE id = $1`;

function readDecision(row: ReservedRow): Decision {
  const limitOf = (name: LimitName): number | undefined => row[name] ?? undefined;
  return {
    number: row.number,
    denied: row.denied ?? undefined,
    waitMilliseconds: row.denied === null ? 0 : waitFor(row.denied, row.wait ?? 1000, row.moment),
    limits: {
      requestsPerMinute: limitOf("requestsPerMinute"),
      tokensPerMinute: limitOf("tokensPerMinute"),
      concurrentRequests: limitOf("concurrentRequests"),
      tokensPerDay: limitOf("tokensPerDay"),
      tokensPerMonth: limitOf("tokensPerMonth"),
    },
    requestsInWindow: row.requests,
    tokensInWindow: row.tokens,
    requestsResetMilliseconds: row.requestsReset,
    tokensResetMilliseconds: row.tokensReset,
  };
}

function ignore(): void {}
