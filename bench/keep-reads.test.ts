import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { addSecrets, addStrangers, load, startBareHandler, startKeepStage } from "./keep-stage.ts";
import { atLeast, compare } from "./rounds.ts";

const real = 10_000;
const strangers = { accounts: 9, secretsEach: 10_000 };
const connections = 16;
const seconds = 3;

test("values are read, with their audit durable before they leave, about as fast as a bare handler reads and writes", {
  timeout: 600_000,
}, async () => {
  await using stage = await startKeepStage();
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
  recordFigure({ claim: "keep 11", text, counted: { reached: all, needed: 100_000 } });
  expect(ratio).toBeGreaterThanOrEqual(atLeast(0.7));
});

test("vaults are listed about as fast as by a bare handler with one indexed query", {
  timeout: 300_000,
}, async () => {
  await using stage = await startKeepStage();
  await using bare = await startBareHandler(stage);
  const { token } = stage.owner;
  const { ratio, medians } = await compare(
    "keep-vault-lists",
    {
      name: "Keep",
      measure: async () =>
        (await load(stage.url, { paths: ["/api/secrets/vaults"], connections, seconds, token })).perSecond,
    },
    {
      name: "bare handler",
      measure: async () => (await load(bare.url, { paths: ["/vaults"], connections, seconds })).perSecond,
    },
  );
  const speeds = medians.map((each) => each.toFixed(0)).join(" against ");
  recordFigure({
    claim: "keep 12",
    text: `${ratio.toFixed(2)} of a bare handler (${speeds} lists a second), needed 0.8`,
  });
  expect(ratio).toBeGreaterThanOrEqual(atLeast(0.8));
});

async function measure(url: string, paths: readonly string[], more = {}): Promise<number> {
  return (await load(url, { paths, connections, seconds, ...more })).perSecond;
}
