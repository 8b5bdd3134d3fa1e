import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { addSecrets, addStrangers, load, startBareHandler, startKeepFixture } from "./keep-fixture.ts";
import { compare, lowerBound, sized } from "./rounds.ts";

const real = sized(10_000, 1000);
const strangers = { accounts: 9, secretsEach: real };
const connections = 16;
const seconds = sized(3, 1);

test("values are read, with their audit durable before they leave, about as fast as a bare handler reads and writes", {
  timeout: 600_000,
}, async () => {
  await using stage = await startKeepFixture();
  const ids = await addSecrets(stage, real);
  await addStrangers(stage, strangers.accounts, strangers.secretsEach);
  await using bare = await startBareHandler(stage);
  const { vaultId, token } = stage.owner;
  const few = ids.filter((_, place) => place % 10 === 0);
  const { ratio, medians } = await compare(
    "keep-value-reads",
    {
      name: "Keep",
      measure: () =>
        measure(
          stage.url,
          few.map((id) => `/api/secrets/vaults/${vaultId}/secrets/${id}/value`),
          { token },
        ),
    },
    {
      name: "bare handler",
      measure: () =>
        measure(
          bare.url,
          few.map((id) => `/value/${vaultId}/${id}`),
        ),
    },
  );
  const speeds = medians.map((each) => each.toFixed(0)).join(" against ");
  const all = ids.length + strangers.accounts * strangers.secretsEach;
  const text = `${all} secrets: ${ratio.toFixed(2)} of a bare handler (${speeds} reads a second), needed 0.7`;
  recordFigure({ claim: "keep 11", text, counted: { reached: all, needed: 10 * real } });
  expect(ratio).toBeGreaterThanOrEqual(lowerBound(0.7));
});

async function measure(url: string, paths: readonly string[], more = {}): Promise<number> {
  return (await load(url, { paths, connections, seconds, ...more })).perSecond;
}
