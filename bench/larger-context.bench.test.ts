import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { smol, startTestServer, type TestServer } from "../apps/hearth/src/test/start-test-server.ts";
import { compare, percentile, sized, upperBound } from "./rounds.ts";
import { timeStream } from "./served.ts";

const bound = 2;
const [contextTokens, largerContextTokens] = [1024, 4096];
const requestsAlone = sized(30, 10);

type Generation = { readonly prompt: string; readonly contextTokens: number; readonly tokens: number };

function bodyOf({ prompt, contextTokens: num_ctx, tokens }: Generation): object {
  return { model: "model", prompt, raw: true, options: { num_ctx, num_predict: tokens, temperature: 0 } };
}

/** A new prompt each time, so that no request finds the prompt of another in the cache. */
let prompts = 0;
async function timeShortRequest(url: string): Promise<number> {
  prompts += 1;
  const prompt = `${prompts} visitors are welcome. Each of them has come from far away to see the old town, and`;
  const { firstMilliseconds, outputTokens } = await timeStream(
    `${url}/api/generate`,
    bodyOf({ prompt, contextTokens, tokens: 4 }),
  );
  expect(outputTokens).toBe(4);
  return firstMilliseconds;
}

/** Until a request for more context, which needs another load, has its response. */
async function timeBesideLargerContext({ url, scheduler }: TestServer): Promise<readonly number[]> {
  await Promise.all(scheduler.running().map(({ key }) => scheduler.unload(key)));
  await timeShortRequest(url);
  expect(scheduler.running()).toMatchObject([{ contextTokens }]);
  const larger = timeStream(
    `${url}/api/generate`,
    bodyOf({ prompt: "Once upon a time", contextTokens: largerContextTokens, tokens: 16 }),
  );
  const times: number[] = [];
  do times.push(await timeShortRequest(url));
  while (scheduler.running()[0]?.contextTokens !== largerContextTokens);
  expect((await larger).outputTokens).toBe(16);
  expect(scheduler.running()).toMatchObject([{ contextTokens: largerContextTokens }]);
  return times;
}

test("short requests keep their first token while the model is loaded again for a larger context", {
  timeout: 600_000,
}, async () => {
  await using server = await startTestServer({
    models: { model: smol },
    limits: { contextTokens, sequences: 4 },
  });
  let requests = 0;
  let worst = 0;
  const { ratio, medians } = await compare(
    "larger-context",
    {
      name: "beside a larger context",
      measure: async () => {
        const times = await timeBesideLargerContext(server);
        requests += times.length;
        worst = Math.max(worst, ...times);
        return percentile(times, 0.9);
      },
    },
    {
      name: "alone",
      measure: async () => {
        const times: number[] = [];
        while (times.length < requestsAlone) times.push(await timeShortRequest(server.url));
        return percentile(times, 0.9);
      },
    },
  );
  recordFigure({
    claim: "guard 5",
    text: `${requests} short requests beside a larger context had their first token within ${ratio.toFixed(2)} times that alone (90th percentiles ${medians.map((each) => each.toFixed(0)).join(" against ")} ms, longest ${worst.toFixed(0)} ms), needed ${bound} or less`,
    counted: { reached: requests, needed: 1 },
  });
  expect(ratio).toBeLessThanOrEqual(upperBound(bound));
});
