import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { fillOwnVaults, type KeepFixture, load, startBareHandler, startKeepFixture } from "./keep-fixture.ts";
import { compare, lowerBound, sized } from "./rounds.ts";

const connections = 16;
const seconds = sized(3, 1);
const needed = 0.8;

type Comparison = { readonly name: string; readonly claim: string; readonly contents: string };

/** Returns how fast Keep is, as a share of a bare handler's speed. */
async function compareLists(fixture: KeepFixture, { name, claim, contents }: Comparison): Promise<number> {
  await using bare = await startBareHandler(fixture);
  const { token } = fixture.owner;
  const { ratio, medians } = await compare(
    name,
    {
      name: "Keep",
      measure: async () =>
        (await load(fixture.url, { paths: ["/api/secrets/vaults"], connections, seconds, token })).perSecond,
    },
    {
      name: "bare handler",
      measure: async () => (await load(bare.url, { paths: ["/vaults"], connections, seconds })).perSecond,
    },
  );
  const speeds = medians.map((each) => each.toFixed(0)).join(" against ");
  const text = `${contents}: ${ratio.toFixed(2)} of a bare handler (${speeds} lists per second), needed ${needed}`;
  recordFigure({ claim, text });
  return ratio;
}

test("listing vaults is about as fast as a bare handler with one indexed query", {
  timeout: 300_000,
}, async () => {
  await using fixture = await startKeepFixture();
  const comparison = { name: "keep-vault-lists", claim: "keep 12", contents: "one empty vault" };
  expect(await compareLists(fixture, comparison)).toBeGreaterThanOrEqual(lowerBound(needed));
});

const vaults = 20;
const secretsEach = sized(3000, 300);

test("listing twenty vaults is as fast when each has three thousand secrets", {
  timeout: 300_000,
}, async () => {
  await using fixture = await startKeepFixture();
  // The personal vault is the first.
  for (let number = 2; number <= vaults; number += 1) {
    await fixture.request("/api/secrets/vaults", { method: "POST", body: { name: `project ${number}` } });
  }
  await fillOwnVaults(fixture, secretsEach);
  const listed = await fixture.request<readonly unknown[]>("/api/secrets/vaults");
  expect(listed).toHaveLength(vaults);
  const contents = `${vaults} vaults with ${secretsEach} secrets each`;
  const comparison = { name: "keep-full-vault-lists", claim: "seal 6", contents };
  expect(await compareLists(fixture, comparison)).toBeGreaterThanOrEqual(lowerBound(needed));
});
