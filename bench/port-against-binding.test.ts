import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { startBareBinding } from "./bare-binding.ts";
import { loadSmolLm, storyPrompts, storyRequests, throughput } from "./engine-under-test.ts";
import { atLeast, compare } from "./rounds.ts";

/** Long enough that a moment of noise does not decide a round. */
const tokens = 96;

test.each([
  { line: 1, streams: 1, bound: 0.97 },
  { line: 2, streams: 8, bound: 0.95 },
])(
  "$streams streams through the port are as fast as the bare binding",
  { timeout: 300_000 },
  async ({ line, streams, bound }) => {
    await using engine = await loadSmolLm();
    await using bare = await startBareBinding({ sequences: 8, threads: 1 });
    const { ratio, medians } = await compare(
      `port-against-binding-${streams}`,
      { name: "port", measure: () => throughput(engine, storyRequests(streams, tokens)) },
      { name: "binding", measure: () => bare.throughput(storyPrompts(streams), tokens) },
    );
    recordFigure({
      claim: `engine ${line}`,
      text: `${ratio.toFixed(3)} of the bare binding, ${streams} streams (${medians.map((each) => each.toFixed(1)).join(" against ")} tokens/s), needed ${bound}`,
    });
    expect(ratio).toBeGreaterThanOrEqual(atLeast(bound));
  },
);
