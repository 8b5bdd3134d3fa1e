import { setTimeout as sleep } from "node:timers/promises";
import { chooseSize, recordFigure, scale } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { openVault, startUnlimitedKeep } from "../test/open-vault.ts";
import { startServingNode } from "../test/serving-node.ts";

const timeout = scale === "nightly" ? 1_800_000 : 240_000;

test("of sixteen concurrent writers with the same revision on two nodes, one succeeds and fifteen get 412", {
  timeout,
}, async () => {
  const rounds = chooseSize({ ci: 6, show: 40, nightly: 500 });
  const writers = 16;
  await using keep = await openVault();
  const { databaseUrl, key, token, person } = keep;
  await using other = await startUnlimitedKeep({ databaseUrl, key });
  await keep.json("PATCH", "", { most_versions: 10_000 });
  const path = `/api/secrets/vaults/${person.vaultId}/secrets/by-path/A`;
  const first = await keep.write("/A", "first");
  let revision = first.revision;
  const tally = { successes: 0, refusals: 0 };
  for (let round = 1; round <= rounds; round += 1) {
    const responses = await Promise.all(
      Array.from({ length: writers }, async (_each, writer) => {
        const response = await fetch(new URL(path, writer % 2 === 0 ? keep.url : other.url), {
          method: "PUT",
          headers: { authorization: `Bearer ${token.text}`, "if-match": `"${revision}"` },
          body: JSON.stringify({ value: `${round} ${writer}` }),
        });
        // The next round uses its revision.
        return { status: response.status, body: (await response.json()) as { revision: number } };
      }),
    );
    const successes = responses.filter(({ status }) => status === 200);
    expect([round, successes.length]).toEqual([round, 1]);
    expect([round, responses.filter(({ status }) => status === 412).length]).toEqual([round, writers - 1]);
    tally.successes += 1;
    tally.refusals += writers - 1;
    revision = successes[0]?.body.revision ?? 0;
  }
  const [, stored] = await keep.json("GET", "/secrets/by-path/A");
  expect([stored.version, stored.revision]).toEqual([rounds + 1, revision]);
  recordFigure({
    claim: "keep 8",
    text: `${writers} writers on one secret, two nodes, ${rounds} revisions: ${tally.successes} successes, one for each; ${tally.refusals} refused with 412`,
    counted: { reached: tally.successes + tally.refusals, needed: rounds * writers },
  });
});

test("a request repeated a thousand times with one Idempotency-Key while nodes are killed has one effect", {
  timeout,
}, async () => {
  const replays = chooseSize({ ci: 100, show: 1000, nightly: 20_000 });
  const minKills = chooseSize({ ci: 2, show: 4, nightly: 60 });
  await using keep = await openVault();
  const { databaseUrl, key, token, person } = keep;
  const environment = { KEEP_WRITES_PER_MINUTE: "10000000", KEEP_LOG_LEVEL: "error" };
  const start = () => startServingNode(databaseUrl, key, environment);
  const nodes = await Promise.all([start(), start()]);
  const path = `/api/secrets/vaults/${person.vaultId}/secrets/by-path/once`;
  const responses = new Map<string, number>();
  const tally = { completed: 0, kills: 0, cutOff: 0 };
  const isEnough = () => tally.completed >= replays && tally.kills >= minKills;
  const send = async (index: number): Promise<void> => {
    const response = await fetch(new URL(path, nodes[index]?.url), {
      method: "PUT",
      headers: { authorization: `Bearer ${token.text}`, "idempotency-key": "the one key" },
      body: JSON.stringify({ value: "written once" }),
      signal: AbortSignal.timeout(10_000),
    });
    const outcome = `${response.status} ${await response.text()}`;
    // A node whose database connections were just cut returns 503: the outcome is unknown, so the client retries.
    if (response.status === 503) return;
    responses.set(outcome, (responses.get(outcome) ?? 0) + 1);
    tally.completed += 1;
  };
  const client = async (number: number): Promise<void> => {
    for (let turn = number; !isEnough(); turn += 1) {
      await send(turn % 2).catch(async () => {
        tally.cutOff += 1;
        await sleep(20);
      });
    }
  };
  const killer = async (): Promise<void> => {
    for (let turn = 0; !isEnough(); turn += 1) {
      const index = turn % 2;
      const victim = nodes[index];
      await sleep(300);
      if (victim === undefined) throw new Error("No such node");
      process.kill(victim.pid, "SIGKILL");
      await victim.exited;
      tally.kills += 1;
      nodes[index] = await start();
    }
  };
  await Promise.all([killer(), ...[0, 1, 2, 3].map(client)]);
  await Promise.all(nodes.map((node) => node.stop()));
  expect([...responses.keys()]).toEqual([expect.stringMatching(/^201 .*"version":1,/)]);
  expect(tally.completed).toBeGreaterThanOrEqual(replays);
  const effects = await keep.database.queryInAccount(person.accountId, {
    text: "SELECT event.revision FROM audit_record AS event WHERE event.account_id = entered.account::uuid AND event.subject_id IS NOT NULL",
  });
  expect(effects).toHaveLength(1);
  expect((await keep.json("GET", "/secrets"))[1].items).toMatchObject([{ version: 1, revision: 1 }]);
  recordFigure({
    claim: "keep 8",
    text: `One Idempotency-Key ${tally.completed} times across ${tally.kills} kills (${tally.cutOff} requests cut off): one effect, one response`,
    counted: { reached: tally.completed, needed: replays },
  });
});
