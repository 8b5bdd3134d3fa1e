import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { defaultLimits } from "../apps/hearth/src/scheduling/limits.ts";
import { smol, startTestServer, type TestServer } from "../apps/hearth/src/test/start-test-server.ts";
import { chatStreams } from "./chat-streams.ts";
import { compare, sized, upperBound } from "./rounds.ts";
import { timeStream } from "./served.ts";

const clients = 8;
/** Short, because with one sequence the eighth client waits for seven responses. */
const tokens = sized(48, 8);
const bound = 0.2;

/** The Ollama API, whose first byte belongs to the first token; the other APIs start their streams before it. */
const [{ path, body }] = chatStreams;

/** The time until the last client has received its first token. */
async function lastFirstToken({ url }: TestServer, round: number): Promise<number> {
  const timed = await Promise.all(
    Array.from({ length: clients }, (_none, index) =>
      // A new prompt each time, so that no round finds the previous round's prompts in the cache.
      timeStream(url + path, body(`Tell a long story, number ${round * clients + index}.`, tokens)),
    ),
  );
  expect(timed.map(({ outputTokens }) => outputTokens)).toEqual(timed.map(() => tokens));
  return Math.max(...timed.map(({ firstMilliseconds }) => firstMilliseconds));
}

test("with eight clients at default settings, the last first token arrives in a fifth of the time that one sequence takes", {
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
