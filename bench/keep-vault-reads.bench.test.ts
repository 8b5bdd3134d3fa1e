import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import {
  addSecrets,
  type KeepFixture,
  load,
  startBareHandler,
  startKeepFixture,
  withoutRateLimits,
} from "./keep-fixture.ts";
import { compare, lowerBound, sized } from "./rounds.ts";

const connections = 16;
const seconds = sized(3, 1);
const needed = 0.7;
/** With as many secrets in all as one account may have. */
const cases = [
  { vaults: 1, secretsEach: sized(3000, 100) },
  { vaults: 32, secretsEach: sized(300, 10) },
];

/** At the default log level, which writes a line per request. */
test.for(cases)(
  "reading values of $vaults vaults, with the records durable, is about as fast as a bare handler",
  {
    timeout: 600_000,
  },
  async ({ vaults, secretsEach }) => {
    await using fixture = await startKeepFixture({ ...withoutRateLimits, KEEP_LOG_LEVEL: "info" });
    const secrets = await fillVaults(fixture, vaults, secretsEach);
    await using bare = await startBareHandler(fixture);
    const { token } = fixture.owner;
    const keepPaths = secrets.map(({ vault, id }) => `/api/secrets/vaults/${vault}/secrets/${id}/value`);
    const barePaths = secrets.map(({ vault, id }) => `/value/${vault}/${id}`);
    const { ratio, medians } = await compare(
      `keep-value-reads-of-${vaults}-vaults`,
      {
        name: "Keep",
        measure: async () =>
          (await load(fixture.url, { paths: keepPaths, connections, seconds, token })).perSecond,
      },
      {
        name: "bare handler",
        measure: async () => (await load(bare.url, { paths: barePaths, connections, seconds })).perSecond,
      },
    );
    const speeds = medians.map((each) => each.toFixed(0)).join(" against ");
    const text = `${vaults} vaults with ${secretsEach} secrets each: ${ratio.toFixed(2)} of a bare handler (${speeds} reads per second), needed ${needed}`;
    recordFigure({ claim: "seal 5", text });
    expect(ratio, text).toBeGreaterThanOrEqual(lowerBound(needed));
  },
);

/** Secrets of all vaults in turn. */
async function fillVaults(
  fixture: KeepFixture,
  vaults: number,
  secretsEach: number,
): Promise<readonly { readonly vault: string; readonly id: string }[]> {
  const ids = [fixture.owner.vaultId];
  while (ids.length < vaults) {
    const body = { name: `project ${ids.length}` };
    ids.push((await fixture.request<{ id: string }>("/api/secrets/vaults", { method: "POST", body })).id);
  }
  const filled: (readonly string[])[] = [];
  for (const id of ids) filled.push(await addSecrets(fixture, secretsEach, id));
  return Array.from({ length: secretsEach }, (_, place) =>
    ids.flatMap((vault, index) => {
      const id = filled[index]?.[place];
      return id === undefined ? [] : [{ vault, id }];
    }),
  ).flat();
}
