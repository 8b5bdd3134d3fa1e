import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chooseSize, hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChatResult, sendChat, uniquePrompt } from "./key-load.ts";
import { percentile, upperBound } from "./rounds.ts";
import { type Served, startHearth } from "./served.ts";

const smol = "smollm2-135m-instruct-q4_1.gguf";
/** Small enough for many requests of each key in the time of the measurement. */
const tiny = "tiny-llama.gguf";
const connections = chooseSize({ ci: 12, show: 120, nightly: 120 });
const politeRequests = chooseSize({ ci: 2, show: 40, nightly: 100 });
const shareSeconds = chooseSize({ ci: 5, show: 30, nightly: 30 });
const greedyKeys = chooseSize({ ci: [3], show: [2, 3, 8], nightly: [2, 3, 8] });
const keyCount = 33;
const keyOf = (index: number): string => `key-number-${index}-of-the-bench`;
const admin = "key-of-the-administrator";

let server: Served;
let fastServer: Served;

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
beforeAll(async () => {
  const folder = stack.use(await makeTemporaryFolder("keys"));
  const file = join(folder.path, "keys");
  const lines = Array.from({ length: keyCount }, (_, index) => `key-${index}:${keyOf(index)}`);
  await writeFile(file, [...lines, `admin:${admin} admin`].join("\n"), { mode: 0o600 });
  const settings = {
    HEARTH_API_KEYS_FILE: file,
    HEARTH_CONTEXT_LENGTH: "2048",
    HEARTH_PARALLEL_REQUESTS: "8",
  };
  server = stack.use(await startHearth(smol, settings));
  fastServer = stack.use(await startHearth(tiny, settings));
  for (const { url } of [server, fastServer]) {
    await sendChat({ url, key: keyOf(0), prompt: "Hello", maxTokens: 8 });
  }
}, 120_000);

type Load = {
  readonly url: string;
  readonly key: number;
  readonly clients: number;
  readonly words: number;
  readonly maxTokens: number;
};

/** Sends chats on as many connections until it is stopped; a rejected one pauses as a client would. */
function startLoad({ url, key, clients, words, maxTokens }: Load) {
  const stopped = new AbortController();
  const results: ChatResult[] = [];
  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const chat = { url, key: keyOf(key), prompt: uniquePrompt(words), maxTokens };
      const result = await sendChat(chat);
      results.push(result);
      if (result.status !== 200) await sleep(1000 * Number(result.retryAfter ?? 1));
    }
  };
  const ended = Promise.all(Array.from({ length: clients }, run));
  return { results, stop: () => stopped.abort(), ended };
}

/** First tokens of a key that sends one chat after another, in milliseconds, and how many were rejected. */
async function sendPolitely(): Promise<Readonly<Record<"p95" | "rejected" | "waited", number>>> {
  const results: ChatResult[] = [];
  for (let count = 0; count < politeRequests; count += 1) {
    const chat = { url: server.url, key: keyOf(1), prompt: uniquePrompt(40), maxTokens: 8 };
    results.push(await sendChat(chat));
    await sleep(50);
  }
  const times = results.map(({ firstTokenMilliseconds }) => firstTokenMilliseconds);
  return {
    p95: percentile(times, 0.95),
    rejected: results.filter(({ status }) => status !== 200).length,
    waited: results.filter(({ hasWaited }) => hasWaited).length,
  };
}

async function readOutputWeight(): Promise<number> {
  const response = await fetch(`${fastServer.url}/api/queue`, {
    headers: { authorization: `Bearer ${admin}` },
  });
  // The response of Hearth's own /api/queue.
  const { models } = (await response.json()) as { models: readonly { output_token_weight: number }[] };
  return models[0]?.output_token_weight ?? Number.NaN;
}

test("a polite key beside one with many connections waits little, and none of its requests is rejected", {
  timeout: 600_000,
}, async () => {
  const alone = await sendPolitely();
  // A full batch has 512 tokens.
  const batch = await sendChat({ url: server.url, key: keyOf(1), prompt: uniquePrompt(480), maxTokens: 1 });
  const greedy = startLoad({ url: server.url, key: 0, clients: connections, words: 40, maxTokens: 16 });
  await sleep(2000);
  const beside = await sendPolitely();
  greedy.stop();
  await greedy.ended;
  const served = greedy.results.filter(({ status }) => status === 200).length;
  const bound = 2 * alone.p95 + batch.firstTokenMilliseconds;
  const text = [
    `polite key: p95 of the first token ${beside.p95.toFixed(0)} ms beside ${connections} connections, ${alone.p95.toFixed(0)} ms alone`,
    `needed at most 2 × alone + one batch = ${bound.toFixed(0)} ms`,
    `${beside.rejected} of ${politeRequests} of its requests rejected`,
    `${beside.waited} had to wait for a turn; the other key: ${served} of ${greedy.results.length} served`,
  ].join("; ");
  recordFigure({ claim: "share 1", text });
  expect(beside.rejected, text).toBe(0);
  expect(beside.p95, text).toBeLessThanOrEqual(upperBound(bound));
});

test.each(greedyKeys)(
  "%i greedy keys with prompts of different lengths are served the same number of tokens",
  {
    timeout: 600_000,
  },
  async (count) => {
    const loads = Array.from({ length: count }, (_, index) =>
      startLoad({ url: fastServer.url, key: index, clients: 16, words: 5 + 10 * index, maxTokens: 8 }),
    );
    // The estimates of the first requests are wrong.
    await sleep(shareSeconds * 200);
    const before = loads.map(({ results }) => results.length);
    await sleep(shareSeconds * 1000);
    const after = loads.map(({ results }) => results.length);
    const weight = await readOutputWeight();
    for (const load of loads) load.stop();
    await Promise.all(loads.map(({ ended }) => ended));
    const served = loads.map(({ results }, index) =>
      results
        .slice(before[index], after[index])
        .reduce((sum, { promptTokens, outputTokens }) => sum + promptTokens + weight * outputTokens, 0),
    );
    const mean = served.reduce((sum, each) => sum + each, 0) / count;
    const worst = Math.max(...served.map((each) => Math.abs(each / mean - 1)));
    const text = `${count} greedy keys over ${shareSeconds} s: shares ${served.map((each) => (each / mean).toFixed(2)).join(", ")} of an equal one, an output token counted as ${weight} prompt tokens; needed within 0.10`;
    recordFigure({ claim: "share 1", text });
    // In so short a time, CI sees only whether a key is starved.
    expect(worst, text).toBeLessThanOrEqual(hasLooseTimingBounds ? count - 1 : 0.1);
  },
);
