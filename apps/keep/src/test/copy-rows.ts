import type { Client } from "pg";

export type RowSelector = { readonly table: string; readonly column: string; readonly value: string };

/** Copies rows, to put them back later as they were: what somebody does who can write to the database. */
export async function copyRows(
  superuser: Client,
  selectors: readonly RowSelector[],
): Promise<{ putBack(): Promise<void> }> {
  const copies: (RowSelector & { readonly rows: readonly string[] })[] = [];
  for (const selector of selectors) {
    const { table, column, value } = selector;
    const { rows } = await superuser.query<{ copy: string }>(
      `SELECT to_json(${table})::text AS copy FROM ${table} WHERE ${column} = $1`,
      [value],
    );
    copies.push({ ...selector, rows: rows.map(({ copy }) => copy) });
  }
  return {
    async putBack() {
      for (const { table, column, value, rows } of copies) {
        await superuser.query(`DELETE FROM ${table} WHERE ${column} = $1`, [value]);
        for (const row of rows) {
          await superuser.query(
            `INSERT INTO ${table} SELECT * FROM json_populate_record(NULL::${table}, $1)`,
            [row],
          );
        }
      }
    },
  };
}
