import { join } from "node:path";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, type TestModelName } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey } from "../apps/hearth/src/key-store/create-key.ts";
import { openSqliteStore } from "../apps/hearth/src/key-store/sqlite-store.ts";
import { type ChatResult, sendChat, uniquePrompt } from "./key-load.ts";
import { compareInTurns, lowerBound, median, sized, upperBound } from "./rounds.ts";
import { type Served, startHearth } from "./served.ts";

const minRatio = 0.98;
const maxAddedMilliseconds = 1;
/** In CI, a tiny model shows that everything works; what it costs is seen beside a real one. */
const model = chooseSize<TestModelName>({
  ci: "tiny-llama.gguf",
  show: "smollm2-135m-instruct-q4_1.gguf",
  nightly: "smollm2-135m-instruct-q4_1.gguf",
});
const clients = 4;
const chatsPerTurn = sized(32, 8);
const pairsPerRound = sized(60, 15);
const maxTokens = sized(32, 4);
const settings = { HEARTH_THREADS: "1", HEARTH_PARALLEL_REQUESTS: "4", HEARTH_CONTEXT_LENGTH: "1024" };
/** High enough that each is checked and none is reached. */
const limit = 1_000_000_000;
const scrapeMilliseconds = 1000;

let on: Served;
let off: Served;
let secret: string;

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
beforeAll(async () => {
  const folder = stack.use(await makeTemporaryFolder("usage-cost"));
  const database = join(folder.path, "keys.sqlite");
  const limits = {
    requestsPerMinute: limit,
    tokensPerMinute: limit,
    tokensPerDay: limit,
    tokensPerMonth: limit,
  };
  const created = createKey({
    name: "bench",
    role: "admin",
    priority: 0,
    concurrentRequests: limit,
    ...limits,
  });
  secret = created.secret;
  {
    await using store = openSqliteStore(database);
    await store.insert(created.key);
  }
  on = stack.use(
    await startHearth(model, {
      ...settings,
      HEARTH_KEYS_DATABASE: database,
      HEARTH_LOG_FILE: join(folder.path, "hearth.log"),
      HEARTH_LOG_LEVEL: "info",
    }),
  );
  off = stack.use(await startHearth(model, settings));
  for (const { url } of [on, off]) await chat(url);
  const scrape = async (): Promise<void> => {
    const headers = { authorization: `Bearer ${secret}` };
    await (await fetch(`${on.url}/metrics`, { headers })).text();
  };
  const timer = setInterval(() => void scrape().catch(() => undefined), scrapeMilliseconds);
  stack.defer(() => clearInterval(timer));
}, 120_000);

async function chat(url: string): Promise<ChatResult> {
  const result = await sendChat({ url, key: secret, prompt: uniquePrompt(20), maxTokens });
  expect(result.status).toBe(200);
  return result;
}

/** Output tokens per second of several clients. */
async function measureThroughput(url: string): Promise<number> {
  let remaining = chatsPerTurn;
  let tokens = 0;
  const startedAt = performance.now();
  const run = async (): Promise<void> => {
    while (remaining > 0) {
      remaining -= 1;
      tokens += (await chat(url)).outputTokens;
    }
  };
  await Promise.all(Array.from({ length: clients }, run));
  return (1000 * tokens) / (performance.now() - startedAt);
}

test("keys, ledger, metrics and log cost no throughput", { timeout: 900_000 }, async () => {
  const { ratio, medians, rounds } = await compareInTurns({
    name: "usage-cost-throughput",
    ours: { name: "on", measure: () => measureThroughput(on.url) },
    theirs: { name: "off", measure: () => measureThroughput(off.url) },
    turns: sized(3, 1),
  });
  const ratios = rounds.map(([with_, without]) => with_ / without);
  const text = `throughput of ${clients} clients with keys, ledger, metrics and log ${ratio.toFixed(3)} of that without (rounds ${formatRange(ratios, 3)}; ${medians.map((each) => each.toFixed(1)).join(" against ")} tokens/s), needed ${minRatio}`;
  recordFigure({ claim: "share 7", text });
  expect(ratio, text).toBeGreaterThanOrEqual(lowerBound(minRatio));
});

/** How much later the first byte comes. Neighbouring requests are compared, so that a slow minute delays both. */
async function addedMilliseconds(): Promise<number> {
  const added: number[] = [];
  for (let pair = 0; pair < pairsPerRound; pair += 1) {
    const isOnFirst = pair % 2 === 0;
    const first = await timeFirstByte(isOnFirst ? on.url : off.url);
    const second = await timeFirstByte(isOnFirst ? off.url : on.url);
    added.push(isOnFirst ? first - second : second - first);
  }
  return median(added);
}

test("keys, ledger, metrics and log delay the first byte by less than a millisecond", {
  timeout: 900_000,
}, async () => {
  const added: number[] = [];
  for (let round = 0; round < sized(5, 1); round += 1) added.push(await addedMilliseconds());
  const text = `first byte ${median(added).toFixed(2)} ms later with keys, ledger, metrics and log (rounds ${formatRange(added, 2)}, each ${pairsPerRound} pairs), needed ${maxAddedMilliseconds} or less`;
  recordFigure({ claim: "share 7", text });
  expect(median(added), text).toBeLessThanOrEqual(upperBound(maxAddedMilliseconds));
});

async function timeFirstByte(url: string): Promise<number> {
  return (await chat(url)).firstTokenMilliseconds;
}

function formatRange(values: readonly number[], digits: number): string {
  return `${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)}`;
}
