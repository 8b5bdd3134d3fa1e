import type { Attacked } from "./attacked-keep.ts";

/** A change that a superuser of the database makes, and what `keep audit verify` must then name. */
export type Attack = {
  readonly statements: readonly string[];
  /** Part of a finding. */
  readonly named: string;
  /** Whether the attacker's next sign-in is tried too. */
  readonly signsIn?: true;
  /** Whether all rows of a table change, so that no other attack can be made at the same time. */
  readonly isGlobal?: true;
  /** Servers that cannot tell, so that what was stored earlier is read again. */
  readonly isReadAgain?: "after a restart" | "anywhere";
  /** Whether only checkpoints that are kept outside the database show the change. */
  readonly needsCheckpoints?: true;
};

export type Attacks = Readonly<Record<string, (attacked: Attacked) => Attack>>;

export function attack(named: string, ...statements: readonly string[]): Attack {
  return { named, statements };
}

/** As `attack`, of a whole table. */
export function globalAttack(named: string, ...statements: readonly string[]): Attack {
  return { ...attack(named, ...statements), isGlobal: true };
}

/** Puts rows back as they were before the victim's last changes. */
export function putBack(table: string, condition = "true"): readonly string[] {
  return [
    `DELETE FROM ${table} WHERE ${condition}`,
    `INSERT INTO ${table} SELECT * FROM earlier_${table} WHERE ${condition}`,
  ];
}

/** Swaps one column of two rows. */
export function swap(
  table: string,
  column: string,
  { one, other }: { readonly one: string; readonly other: string },
): string {
  return `UPDATE ${table} SET ${column} = CASE WHEN ${one} THEN (SELECT ${column} FROM ${table} WHERE ${other}) ELSE (SELECT ${column} FROM ${table} WHERE ${one}) END WHERE (${one}) OR (${other})`;
}

export function flipBit(column: string): string {
  return `${column} = set_bit(${column}, 99, 1 - get_bit(${column}, 99))`;
}

/** A copy of a row with other columns, which are given as JSON. */
export function copyRow(
  table: string,
  condition: string,
  changes: Readonly<Record<string, string | null>>,
): string {
  const json = JSON.stringify(changes).replaceAll("'", "''");
  return `INSERT INTO ${table} SELECT copy.* FROM ${table} AS stored, LATERAL json_populate_record(stored, '${json}') AS copy WHERE ${condition}`;
}
