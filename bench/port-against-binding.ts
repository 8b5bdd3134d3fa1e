import { recordFigure } from "@hearth-and-keep/figures";
import { startBareBinding } from "./bare-binding.ts";
import { loadSmolLm, storyPrompts, storyRequests, throughput } from "./engine-under-test.ts";
import { compare, sized } from "./rounds.ts";

/** Long enough that brief noise does not decide a round. */
const tokens = sized(96, 12);

/** The engine port's throughput divided by the bare binding's, with the same number of concurrent streams. */
export async function compareWithBinding(streams: number, claim: string): Promise<number> {
  await using engine = await loadSmolLm();
  await using bare = await startBareBinding({ sequences: 8, threads: 1 });
  const { ratio, medians } = await compare(
    `port-against-binding-${streams}`,
    { name: "port", measure: () => throughput(engine, storyRequests(streams, tokens)) },
    { name: "binding", measure: () => bare.throughput(storyPrompts(streams), tokens) },
  );
  const speeds = medians.map((each) => each.toFixed(1)).join(" against ");
  recordFigure({
    claim,
    text: `${ratio.toFixed(3)} of the bare binding, ${streams} streams (${speeds} tokens/s)`,
  });
  return ratio;
}
