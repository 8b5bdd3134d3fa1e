import { recordFigure } from "@hearth-and-keep/figures";
import { Client } from "pg";
import { expect, test } from "vitest";
import { startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import { visitKeep } from "../test/fake-browser.ts";

const wanted = 200;
const patienceMilliseconds = 180_000;

test(
  "two hundred first sign-ins of one person at once on three nodes make one account, identity and personal vault",
  async () => {
    await using world = await startKeepWithProviders();
    const nodes = [world.keep, await world.addNode(), await world.addNode()];
    const ready = await Promise.all(
      Array.from({ length: wanted }, async (_each, position) => {
        const node = nodes[position % nodes.length] ?? world.keep;
        const visitor = visitKeep(node);
        const location = await visitor.leave("code-hosting");
        return { visitor, callback: await world.codeHosting.signInAs(location, { account: "first" }) };
      }),
    );
    const answers = await Promise.all(ready.map(({ visitor, callback }) => visitor.comeBack(callback)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: wanted }, () => 303));
    const sessions = await Promise.all(ready.map(({ visitor }) => visitor.session()));
    const accounts = new Set(sessions.map(({ account }) => account.id));
    expect(accounts.size).toBe(1);
    // With the rights of a superuser: rows of every account count.
    const counts = await countRows(world.keep.databaseUrl);
    expect(counts).toEqual({
      account: 1,
      identity: 1,
      identity_route: 1,
      vault: 1,
      vault_key: 1,
      session: wanted,
    });
    recordFigure({
      claim: "keep 2",
      text: `${wanted} first sign-ins at once on ${nodes.length} nodes: ${counts["account"]} account, ${counts["identity"]} identity, ${counts["vault"]} personal vault, ${counts["session"]} sessions`,
      counted: { reached: answers.length, needed: wanted },
    });
  },
  patienceMilliseconds,
);

async function countRows(url: string): Promise<Record<string, number>> {
  const client = new Client(url);
  await client.connect();
  try {
    const tables = ["account", "identity", "identity_route", "vault", "vault_key", "session"];
    const questions = tables.map((table) => `(SELECT count(*)::int FROM ${table}) AS ${table}`);
    const { rows } = await client.query<Record<string, number>>(`SELECT ${questions.join(", ")}`);
    return rows[0] ?? {};
  } finally {
    await client.end();
  }
}
