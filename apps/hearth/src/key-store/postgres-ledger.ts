import type { Pool } from "pg";
import {
  deletedPerRenewal,
  type KeyedEntry,
  type RecordQuery,
  type SumQuery,
  type UsageRecord,
  type UsageSum,
} from "./usage-ledger.ts";
import { readRecord, readSum, recordColumns, sortByKey, sumsOfColumns, type UsageRow } from "./usage-rows.ts";

const record = { name: "hearth-record-usage", text: "SELECT hearth_record_usage($1)" };

/** Parameters may be null, which selects everything. */
const sums = `SELECT hour - hour % $3::bigint AS start, key_name, model, location, ${sumsOfColumns} FROM hearth_usage_hour
  WHERE hour >= $1 AND hour < $2 AND ($4::text IS NULL OR (key_id = $4 AND key_name = $5))
  GROUP BY 1, key_name, model, location
  ORDER BY start, key_name COLLATE "C", model COLLATE "C", location COLLATE "C" LIMIT $6`;

const list = `SELECT ${recordColumns} FROM hearth_usage_record
  WHERE id < $1 AND ($2::text IS NULL OR model = $2) AND ($4::text IS NULL OR key_name = $4)
    AND ($5::text IS NULL OR key_id = $5)
  ORDER BY id DESC LIMIT $3`;

const purges = [
  `DELETE FROM hearth_usage_record WHERE id IN (
    SELECT id FROM hearth_usage_record WHERE finished_at < hearth_now() - $1::bigint
    ORDER BY finished_at LIMIT ${deletedPerRenewal} FOR UPDATE SKIP LOCKED)`,
  `DELETE FROM hearth_usage_hour WHERE ctid IN (
    SELECT ctid FROM hearth_usage_hour WHERE hour < hearth_now() - $1::bigint
    ORDER BY hour LIMIT ${deletedPerRenewal} FOR UPDATE SKIP LOCKED)`,
];

/** The statements of the ledger that are not part of settling a request. */
export class PostgresLedger {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async record(entries: readonly KeyedEntry[]): Promise<void> {
    const rows = sortByKey(entries).map(({ key, entry }) => ({ id: key.id ?? "", name: key.name, entry }));
    await this.#pool.query({ ...record, values: [JSON.stringify(rows)] });
  }

  async sum({ from, to, bucketMilliseconds, own, limit }: SumQuery): Promise<readonly UsageSum[]> {
    const owner = own === undefined ? [null, null] : [own.id ?? "", own.name];
    const { rows } = await this.#pool.query<UsageRow>(sums, [from, to, bucketMilliseconds, ...owner, limit]);
    return rows.map(readSum);
  }

  async list({ own, keyName, model, before, limit }: RecordQuery): Promise<readonly UsageRecord[]> {
    if (own !== undefined && keyName !== undefined && keyName !== own.name) return [];
    const { rows } = await this.#pool.query<UsageRow>(list, [
      before ?? Number.MAX_SAFE_INTEGER,
      model ?? null,
      limit,
      own?.name ?? keyName ?? null,
      own === undefined ? null : (own.id ?? ""),
    ]);
    return rows.map(readRecord);
  }

  async purge(retentionMilliseconds: number): Promise<void> {
    for (const purge of purges) await this.#pool.query(purge, [retentionMilliseconds]);
  }
}
