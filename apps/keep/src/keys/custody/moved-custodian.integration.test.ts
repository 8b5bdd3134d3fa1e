import { setTimeout as sleep } from "node:timers/promises";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { Hidden } from "@hearth-and-keep/logging";
import { acquireDatabase } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { openDatabase } from "../../database/open-database.ts";
import { openVault, startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep, TestRequest } from "../../test/start-test-keep.ts";
import { generateKeyText, readKeys } from "../key-encryption-key.ts";
import { ageLibrary, custodianStarters } from "./test/start-custodians.ts";
import { waitUntilUnused } from "./test/wait-until-unused.ts";

const { secrets, pauseMilliseconds } = chooseSize({
  ci: { secrets: 10, pauseMilliseconds: 20 },
  show: { secrets: 50, pauseMilliseconds: 0 },
  nightly: { secrets: 500, pauseMilliseconds: 0 },
});

/** Each custodian and the next one, in a circle. */
const movers = custodianStarters.length > 1 ? custodianStarters : [...custodianStarters, ageLibrary];
const moves = movers
  .map((from, index) => ({ from, to: movers[(index + 1) % movers.length] ?? from }))
  .slice(0, chooseSize({ ci: 1, show: movers.length, nightly: movers.length }));

const migrated = {
  name: "keep schema",
  prepare: async (url: string) => (await openDatabase({ url }))[Symbol.asyncDispose](),
};

type Load = {
  /** The last acknowledged value of each secret. */
  readonly written: Map<string, string>;
  reads: number;
  readonly failures: string[];
  isOver: boolean;
};

type Client = {
  readonly request: (path: string, options?: TestRequest) => Promise<Response>;
  readonly vault: string;
};

/** Asks the nodes in turn; another one if the node closed the connection because it stops. */
function requestOf(nodes: readonly TestKeep[], token: string): Client["request"] {
  let turn = 0;
  return async (path, options) => {
    for (;;) {
      turn += 1;
      const node = nodes[turn % nodes.length];
      try {
        if (node !== undefined) return await node.request(path, { ...options, token });
      } catch (error) {
        if (node !== undefined && nodes.includes(node)) throw error;
      }
    }
  };
}

/** Writes and reads back, on any node that is not being restarted. */
async function keepWorking({ request, vault }: Client, load: Load): Promise<void> {
  for (let turn = 0; !load.isOver; turn += 1) {
    const name = `S${turn % secrets}`;
    const value = `${name} ${turn}`;
    const put = { method: "PUT", body: { value } };
    const written = await request(`${vault}/secrets/by-path/${name}`, put);
    if (![200, 201].includes(written.status)) load.failures.push(`write ${written.status}`);
    else load.written.set(name, value);
    const read = await request(`${vault}/values/by-path/${name}`);
    if (!(await read.text()).includes(`"value":"${value}"`)) load.failures.push(`read ${read.status}`);
    load.reads += 1;
    await sleep(pauseMilliseconds);
  }
}

type Settings = Readonly<Record<string, string>>;

/** The settings before a move, and those with which the nodes restart, one after the other. */
async function planMove(
  { from, to }: (typeof moves)[number],
  owned: AsyncDisposableStack,
): Promise<{ readonly before: Settings; readonly steps: readonly Settings[]; readonly fingerprint: string }> {
  const fresh = generateKeyText();
  const oldKey = await owned.use(await from.start()).seal(generateKeyText(), "key");
  const newKey = await owned.use(await to.start()).seal(fresh, "key");
  const fingerprint = readKeys(new Hidden(fresh)).fingerprint;
  const before = { encryptionKeyCommand: oldKey.command };
  const after = { encryptionKeyCommand: newKey.command, encryptionKeyFingerprint: fingerprint };
  const steps = [
    { ...before, secondEncryptionKeyCommand: newKey.command },
    { ...after, secondEncryptionKeyCommand: oldKey.command },
    after,
  ];
  return { before, steps, fingerprint };
}

test.each(moves)(
  "two nodes move from $from.name to $to.name under load, and nothing is lost",
  {
    timeout: 900_000,
  },
  async ({ from, to }) => {
    await using owned = new AsyncDisposableStack();
    const { url: databaseUrl } = owned.use(await acquireDatabase(migrated));
    const { before, steps, fingerprint } = await planMove({ from, to }, owned);
    const start = (settings: Settings) => startUnlimitedKeep({ databaseUrl, settings });
    const first = await start(before);
    const nodes: TestKeep[] = [first, await start(before)];
    owned.defer(async () => {
      for (const node of nodes) await node[Symbol.asyncDispose]();
    });
    const { person, token } = await openVault(first);
    const client: Client = {
      request: requestOf(nodes, token.text),
      vault: `/api/secrets/vaults/${person.vaultId}`,
    };
    const load: Load = { written: new Map(), reads: 0, failures: [], isOver: false };
    const working = keepWorking(client, load);
    working.catch(() => undefined);
    try {
      for (const settings of steps) {
        // Nodes without the old key start only when nothing needs it.
        if (settings === steps.at(-1)) await waitUntilUnused(databaseUrl, fingerprint);
        for (let turn = 0; turn < 2; turn += 1) {
          // The load goes to the other node meanwhile.
          await nodes.shift()?.[Symbol.asyncDispose]();
          nodes.push(await start(settings));
        }
      }
    } finally {
      load.isOver = true;
      await working;
    }
    expect(load.failures).toEqual([]);
    for (const [name, value] of load.written) {
      const read = await client.request(`${client.vault}/values/by-path/${name}`);
      expect(await read.json()).toMatchObject({ value });
    }
    recordFigure({
      claim: "client 8",
      text: `moved from ${from.name} to ${to.name} in ${steps.length * 2} restarts under ${load.reads} writes and reads, ${load.failures.length} failed`,
    });
  },
);
