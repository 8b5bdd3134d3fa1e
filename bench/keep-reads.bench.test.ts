import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { addOtherAccounts, addSecrets, load, startBareHandler, startKeepFixture } from "./keep-fixture.ts";
import { compare, lowerBound, sized } from "./rounds.ts";

const real = sized(10_000, 1000);
const otherAccounts = { accounts: 9, secretsEach: real };
const connections = 16;
const seconds = sized(3, 1);

test("reading values, with the audit event durable before the response, is about as fast as a bare handler", {
  timeout: 600_000,
}, async () => {
  await using fixture = await startKeepFixture();
  const ids = await addSecrets(fixture, real);
  await addOtherAccounts(fixture, otherAccounts.accounts, otherAccounts.secretsEach);
  await using bare = await startBareHandler(fixture);
  const { vaultId, token } = fixture.owner;
  const sampledIds = ids.filter((_, index) => index % 10 === 0);
  const { ratio, medians } = await compare(
    "keep-value-reads",
    {
      name: "Keep",
      measure: () =>
        measure(
          fixture.url,
          sampledIds.map((id) => `/api/secrets/vaults/${vaultId}/secrets/${id}/value`),
          { token },
        ),
    },
    {
      name: "bare handler",
      measure: () =>
        measure(
          bare.url,
          sampledIds.map((id) => `/value/${vaultId}/${id}`),
        ),
    },
  );
  const speeds = medians.map((each) => each.toFixed(0)).join(" against ");
  const all = ids.length + otherAccounts.accounts * otherAccounts.secretsEach;
  const text = `${all} secrets: ${ratio.toFixed(2)} of a bare handler (${speeds} reads per second), needed 0.7`;
  recordFigure({ claim: "keep 11", text, counted: { reached: all, needed: 10 * real } });
  expect(ratio).toBeGreaterThanOrEqual(lowerBound(0.7));
});

async function measure(url: string, paths: readonly string[], options = {}): Promise<number> {
  return (await load(url, { paths, connections, seconds, ...options })).perSecond;
}
