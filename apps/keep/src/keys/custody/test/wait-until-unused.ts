import { expect } from "vitest";
import { asSuperuser } from "../../test/tamper-fixtures.ts";

/** Waits until nothing in the database is encrypted with another key than this one. */
export async function waitUntilUnused(databaseUrl: string, fingerprint: string): Promise<void> {
  const countOthers = () =>
    asSuperuser(databaseUrl, async (superuser) => {
      const { rowCount } = await superuser.query(
        "SELECT kek_fingerprint FROM (SELECT kek_fingerprint FROM vault_key UNION ALL SELECT kek_fingerprint FROM server_key) AS wrapped WHERE kek_fingerprint <> $1",
        [fingerprint],
      );
      return rowCount;
    });
  await expect.poll(countOthers, { timeout: 60_000 }).toBe(0);
}
