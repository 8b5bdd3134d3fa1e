import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { defaultLimits } from "../apps/hearth/src/scheduling/limits.ts";
import { smol, startTestServer, type TestServer } from "../apps/hearth/src/test/start-test-server.ts";
import { familyStreams } from "./family-streams.ts";
import { compare, sized, upperBound } from "./rounds.ts";
import { timeStream } from "./served.ts";

const clients = 8;
/** A short answer; with one sequence the eighth waits for seven of them. */
const tokens = sized(48, 16);
const bound = 0.2;

/** The one family whose first byte is of the first token: the others begin their stream before it. */
const [{ path, body }] = familyStreams;

/** The time to the first token of the one who gets it last. */
async function lastFirstToken({ url }: TestServer, round: number): Promise<number> {
  const timed = await Promise.all(
    Array.from({ length: clients }, (_none, index) =>
      // A new question each time, so that no round finds the last one's prompts in the cache.
      timeStream(url + path, body(`Tell a long story, number ${round * clients + index}.`, tokens)),
    ),
  );
  expect(timed.map(({ outputTokens }) => outputTokens)).toEqual(timed.map(() => tokens));
  return Math.max(...timed.map(({ firstMilliseconds }) => firstMilliseconds));
}

test("of eight clients at default settings the last one's first token comes in a fifth of the time that one sequence needs", {
  timeout: 600_000,
}, async () => {
  const models = { model: smol };
  await using eight = await startTestServer({ models, limits: defaultLimits() });
  await using one = await startTestServer({ models, limits: { ...defaultLimits(), sequences: 1 } });
  let round = 0;
  const { ratio, medians } = await compare(
    "eighth-client",
    { name: "default settings", measure: () => lastFirstToken(eight, (round += 1)) },
    { name: "one sequence", measure: () => lastFirstToken(one, (round += 1)) },
  );
  expect(eight.scheduler.running().map(({ sequences }) => sequences)).toEqual([clients]);
  recordFigure({
    claim: "families 11",
    text: `${ratio.toFixed(3)} of the time with one sequence (${medians.map((each) => each.toFixed(0)).join(" against ")} ms), needed ${bound} or less`,
  });
  expect(ratio).toBeLessThanOrEqual(upperBound(bound));
});
