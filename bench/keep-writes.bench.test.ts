import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { type KeepFixture, load, startBareHandler, startKeepFixture } from "./keep-fixture.ts";
import { compare, sized } from "./rounds.ts";

const secrets = sized(3000, 300);
const seconds = sized(3, 1);
const neededRatio = sized(0.5, 0.02);
/** Writes per second, where the bare handler manages twice as many. */
const neededPerSecond = sized(1000, 20);

test.each([8, 32])(
  "%i clients write to one vault at least half as fast as to a bare handler",
  {
    timeout: 600_000,
  },
  async (connections) => {
    await using fixture = await startKeepFixture();
    await using bare = await startBareHandler(fixture);
    const body = JSON.stringify({ value: "x".repeat(60) });
    const { vaultId, token } = fixture.owner;
    const paths = await createSecrets(fixture, body);
    const measure = async (url: string, plan: { paths: readonly string[]; token?: string }) =>
      (await load(url, { ...plan, body, connections, seconds })).perSecond;
    const { ratio, medians } = await compare(
      `keep-writes-${connections}`,
      { name: "Keep", measure: () => measure(fixture.url, { paths, token }) },
      { name: "bare handler", measure: () => measure(bare.url, { paths: [`/write/${vaultId}`] }) },
    );
    const [ours, theirs] = medians;
    const speeds = medians.map((each) => each.toFixed(0)).join(" against ");
    recordFigure({
      claim: "seal 7",
      text: `${connections} clients: ${ratio.toFixed(2)} of a bare handler (${speeds} writes to one vault per second), needed ${neededRatio}, and ${neededPerSecond} where that one does ${2 * neededPerSecond}`,
      counted: { reached: paths.length, needed: secrets },
    });
    expect(ratio).toBeGreaterThanOrEqual(neededRatio);
    expect(ours).toBeGreaterThanOrEqual(theirs >= 2 * neededPerSecond ? neededPerSecond : 0);
  },
);

/** Each secret has room for a hundred versions. */
async function createSecrets({ request, owner }: KeepFixture, body: string): Promise<readonly string[]> {
  const vault = `/api/secrets/vaults/${owner.vaultId}`;
  const names = Array.from({ length: secrets }, (_, index) => `/bench/secret-${index}`);
  for (let from = 0; from < names.length; from += 100) {
    const operations = names
      .slice(from, from + 100)
      .map((path) => ({ op: "put", path, ...JSON.parse(body) }));
    await request(`${vault}/batch`, { method: "POST", body: { operations } });
  }
  return names.map((name) => `${vault}/secrets/by-path${name}`);
}
