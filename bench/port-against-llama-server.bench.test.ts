import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { type LlamaServer, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { loadSmolLm, storyPrompts, storyRequests, throughput } from "./engine-under-test.ts";
import { compare, lowerBound, sized } from "./rounds.ts";
import { startYardstick, yardstick } from "./yardstick.ts";

const tokens = sized(48, 16);

async function serverThroughput(server: LlamaServer, streams: number): Promise<number> {
  const startedAt = performance.now();
  await Promise.all(
    storyPrompts(streams).map(async (prompt) => {
      const body = {
        prompt,
        n_predict: tokens,
        temperature: 0,
        ignore_eos: true,
        cache_prompt: false,
        repeat_penalty: 1,
        stream: true,
      };
      const response = await fetch(`${server.url}/completion`, {
        method: "POST",
        body: JSON.stringify(body),
      });
      await response.text();
    }),
  );
  return (streams * tokens * 1000) / (performance.now() - startedAt);
}

const cores = 2;
const cases = [
  { streams: 1, threads: 1 },
  { streams: 8, threads: 1 },
  { streams: 1, threads: cores },
  { streams: 8, threads: cores },
];

test.each(chooseSize({ ci: cases.slice(-1), show: cases, nightly: cases }))(
  "$streams streams on $threads threads are nearly as fast as llama.cpp's own server",
  { timeout: 300_000 },
  async ({ streams, threads }) => {
    await using engine = await loadSmolLm({ threads });
    const model = await testModel("smollm2-135m-instruct-q4_1.gguf");
    await using server = await startYardstick({ model, parallelSlots: 8, contextTokens: 2048, threads });
    const { ratio, medians } = await compare(
      `port-against-llama-server-${streams}-${threads}`,
      { name: "port", measure: () => throughput(engine, storyRequests(streams, tokens)) },
      { name: "llama-server", measure: () => serverThroughput(server, streams) },
    );
    recordFigure({
      claim: "engine 3",
      text: `${ratio.toFixed(3)} of ${yardstick}, ${streams} streams, ${threads} threads (${medians.map((each) => each.toFixed(1)).join(" against ")} tokens/s), needed 0.95`,
    });
    expect(ratio).toBeGreaterThanOrEqual(lowerBound(0.95));
  },
);
