import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  deletedPerRenewal,
  type KeyedEntry,
  type RecordQuery,
  type SumQuery,
  type UsageKey,
  type UsageRecord,
  type UsageSum,
} from "./usage-ledger.ts";
import {
  entryColumns,
  readRecord,
  readSum,
  recordColumns,
  sumsOfColumns,
  valuesOfEntry,
} from "./usage-rows.ts";

const places = entryColumns.map(() => "?").join(", ");

/** Numbered parameters may be null, which selects everything. */
export const ledgerStatements = {
  add: `INSERT INTO usage_record (finished_at, key_id, key_name, ${entryColumns.join(", ")}) VALUES (?, ?, ?, ${places})`,
  name: "SELECT name FROM access_key WHERE id = ?",
  sums: `SELECT hour - hour % ?3 AS start, key_name, model, location, ${sumsOfColumns} FROM usage_hour
    WHERE hour >= ?1 AND hour < ?2 AND (?4 IS NULL OR (key_id = ?4 AND key_name = ?5))
    GROUP BY start, key_name, model, location ORDER BY start, key_name, model, location LIMIT ?6`,
  all: listOf(),
  ofKey: listOf("key_name = ?3", "(?4 IS NULL OR key_id = ?4)"),
  ofModel: listOf("model = ?3"),
  ofKeyAndModel: listOf("key_name = ?3", "(?4 IS NULL OR key_id = ?4)", "model = ?5"),
  purgeRecords: `DELETE FROM usage_record WHERE id IN (
    SELECT id FROM usage_record WHERE finished_at < ? ORDER BY finished_at LIMIT ${deletedPerRenewal})`,
  purgeHours: `DELETE FROM usage_hour WHERE (hour, key_id, key_name, model, location) IN (
    SELECT hour, key_id, key_name, model, location FROM usage_hour WHERE hour < ? ORDER BY hour LIMIT ${deletedPerRenewal})`,
} as const;

/** A statement for each filter, so that its rows are found through an index: this thread also serves streams. */
function listOf(...conditions: readonly string[]): string {
  return `SELECT ${recordColumns} FROM usage_record WHERE ${["id < ?1", ...conditions].join(" AND ")}
    ORDER BY id DESC LIMIT ?2`;
}

type Statements = Readonly<Record<keyof typeof ledgerStatements, StatementSync>>;

/** The statements of the ledger; transactions are the store's. */
export class SqliteLedger {
  readonly #run: Statements;

  constructor(database: DatabaseSync) {
    // Every statement of the list is prepared under its own name.
    this.#run = Object.fromEntries(
      Object.entries(ledgerStatements).map(([name, sql]) => [name, database.prepare(sql)]),
    ) as Statements;
  }

  add({ key, entry }: KeyedEntry, now: number): void {
    this.#run.add.run(now, key.id ?? "", key.name, ...valuesOfEntry(entry));
  }

  nameOf(keyId: string): string {
    return String(this.#run.name.get(keyId)?.["name"] ?? "");
  }

  sum({ from, to, bucketMilliseconds, own, limit }: SumQuery): readonly UsageSum[] {
    const values = [
      from,
      to,
      bucketMilliseconds,
      own === undefined ? null : idOf(own),
      own?.name ?? null,
      limit,
    ];
    return this.#run.sums.all(...values).map(readSum);
  }

  list({
    own,
    keyName,
    model,
    before = Number.MAX_SAFE_INTEGER,
    limit,
  }: RecordQuery): readonly UsageRecord[] {
    if (own !== undefined && keyName !== undefined && keyName !== own.name) return [];
    const name = own?.name ?? keyName;
    const owner = name === undefined ? [] : [name, own === undefined ? null : idOf(own)];
    if (model === undefined) {
      return this.#run[name === undefined ? "all" : "ofKey"].all(before, limit, ...owner).map(readRecord);
    }
    if (name === undefined) return this.#run.ofModel.all(before, limit, model).map(readRecord);
    return this.#run.ofKeyAndModel.all(before, limit, ...owner, model).map(readRecord);
  }

  purge(before: number): void {
    this.#run.purgeRecords.run(before);
    this.#run.purgeHours.run(before);
  }
}

/** Rows of configured keys have an empty id. */
function idOf({ id = "" }: UsageKey): string {
  return id;
}
