import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";

export type Migration = {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
};

const folder = new URL("./migrations/", import.meta.url);

/** Files are named `0001-what-it-does.sql` and numbered without gaps. */
export async function readMigrations(): Promise<readonly Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).toSorted();
  return Promise.all(
    names.map(async (name, position) => {
      const number = Number(/^(\d{4})-[a-z0-9-]+\.sql$/.exec(name)?.[1]);
      if (number !== position + 1)
        throw new Error(`Cannot read migrations: "${name}" is not number ${position + 1}`);
      const sql = await readFile(new URL(name, folder), "utf8");
      return { number, name, sql, checksum: createHash("sha256").update(sql).digest("hex") };
    }),
  );
}
