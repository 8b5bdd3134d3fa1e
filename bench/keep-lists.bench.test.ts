import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { load, startBareHandler, startKeepFixture } from "./keep-fixture.ts";
import { compare, lowerBound, sized } from "./rounds.ts";

const connections = 16;
const seconds = sized(3, 1);

test("listing vaults is about as fast as a bare handler with one indexed query", {
  timeout: 300_000,
}, async () => {
  await using fixture = await startKeepFixture();
  await using bare = await startBareHandler(fixture);
  const { token } = fixture.owner;
  const { ratio, medians } = await compare(
    "keep-vault-lists",
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
  recordFigure({
    claim: "keep 12",
    text: `${ratio.toFixed(2)} of a bare handler (${speeds} lists per second), needed 0.8`,
  });
  expect(ratio).toBeGreaterThanOrEqual(lowerBound(0.8));
});
