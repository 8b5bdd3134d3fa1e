import { recordFigure } from "@hearth-and-keep/figures";
import { Client } from "pg";
import { expect, test } from "vitest";
import { createFakeBrowser } from "../test/fake-browser.ts";
import { startKeepWithProviders } from "../test/start-keep-with-providers.ts";

const signIns = 200;
const timeoutMilliseconds = 180_000;

test(
  "200 concurrent first sign-ins of one person on three nodes create one account, identity and personal vault",
  async () => {
    await using fixture = await startKeepWithProviders();
    const nodes = [fixture.keep, await fixture.addNode(), await fixture.addNode()];
    const ready = await Promise.all(
      Array.from({ length: signIns }, async (_each, position) => {
        const node = nodes[position % nodes.length] ?? fixture.keep;
        const browser = createFakeBrowser(node);
        const location = await browser.startSignIn("code-hosting");
        return {
          browser,
          callback: await fixture.codeHosting.signInAs(location, { account: "first" }),
        };
      }),
    );
    const responses = await Promise.all(
      ready.map(({ browser, callback }) => browser.followCallback(callback)),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: signIns }, () => 303));
    const sessions = await Promise.all(ready.map(({ browser }) => browser.session()));
    const accounts = new Set(sessions.map(({ account }) => account.id));
    expect(accounts.size).toBe(1);
    // As a superuser, to count rows of all accounts.
    const counts = await countRows(fixture.keep.databaseUrl);
    expect(counts).toEqual({
      account: 1,
      identity: 1,
      identity_route: 1,
      vault: 1,
      vault_key: 1,
      session: signIns,
    });
    recordFigure({
      claim: "keep 2",
      text: `${signIns} concurrent first sign-ins on ${nodes.length} nodes: ${counts["account"]} account, ${counts["identity"]} identity, ${counts["vault"]} personal vault, ${counts["session"]} sessions`,
      counted: { reached: responses.length, needed: signIns },
    });
  },
  timeoutMilliseconds,
);

async function countRows(url: string): Promise<Record<string, number>> {
  const client = new Client(url);
  await client.connect();
  try {
    const tables = ["account", "identity", "identity_route", "vault", "vault_key", "session"];
    const subqueries = tables.map((table) => `(SELECT count(*)::int FROM ${table}) AS ${table}`);
    const { rows } = await client.query<Record<string, number>>(`SELECT ${subqueries.join(", ")}`);
    return rows[0] ?? {};
  } finally {
    await client.end();
  }
}
