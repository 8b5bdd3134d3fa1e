import { recordFigure } from "@hearth-and-keep/figures";
import { expect, type TestContext, test } from "vitest";
import { chatStreams } from "./chat-streams.ts";
import { baselineFolder } from "./config.ts";
import {
  type Comparison,
  compareInTurns,
  lowerBound,
  median,
  type Side,
  sized,
  upperBound,
} from "./rounds.ts";
import { type Served, startHearth, timeGet, timeStream } from "./served.ts";
import { baselineCommit, baselineInstructions, startBaseline } from "./start-baseline.ts";

const minRatio = 0.98;
const maxAddedMilliseconds = 1;
const model = "smollm2-135m-instruct-q4_1.gguf";
/** SmolLM2's end-of-sequence tokens; banning them makes every response exactly as long as requested. */
const endTokens = [0, 2];
/** One thread, so that the server, its worker and this client fit on two cores. */
const settings = {
  HEARTH_ENGINE: "binding",
  HEARTH_THREADS: "1",
  HEARTH_PARALLEL_REQUESTS: "4",
  HEARTH_CONTEXT_LENGTH: "1024",
};

// The reporter does not print why a test was skipped.
if (baselineFolder === undefined) process.stderr.write(`Skipping: ${baselineInstructions}\n`);

type Pair = AsyncDisposable & { readonly present: Served; readonly baseline: Served };

async function startPair({ skip }: TestContext): Promise<Pair> {
  if (baselineFolder === undefined) return skip("no baseline");
  await using stack = new AsyncDisposableStack();
  const present = stack.use(await startHearth(model, settings));
  const baseline = stack.use(await startBaseline(baselineFolder, model, settings));
  const resources = stack.move();
  return { present, baseline, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

type Load = {
  readonly name: string;
  readonly turns: number;
  /** Called once per server; what it returns is called once per turn. */
  readonly prepare: (url: string) => Side["measure"];
};

function comparePair({ present, baseline }: Pair, { name, turns, prepare }: Load): Promise<Comparison> {
  return compareInTurns({
    name: `cost-of-protection-${name}`,
    turns,
    ours: { name: "present", measure: prepare(present.url) },
    theirs: { name: "baseline", measure: prepare(baseline.url) },
  });
}

/** Tokens per second over concurrent streams; both servers get the same prompts, each only once. */
function measureThroughput(url: string, streams: number): Side["measure"] {
  let prompts = 0;
  const maxTokens = sized(32, 8);
  return async () => {
    const bodies = Array.from({ length: streams }, () => storyBody((prompts += 1), maxTokens));
    const startedAt = performance.now();
    const timed = await Promise.all(bodies.map((body) => timeStream(`${url}/v1/chat/completions`, body)));
    const seconds = (performance.now() - startedAt) / 1000;
    expect(timed.map(({ outputTokens }) => outputTokens)).toEqual(timed.map(() => maxTokens));
    return (streams * maxTokens) / seconds;
  };
}

function storyBody(number: number, maxTokens: number): object {
  return {
    model: "model",
    messages: [{ role: "user", content: `Tell story number ${number}.` }],
    temperature: 0,
    seed: 1,
    max_tokens: maxTokens,
    logit_bias: Object.fromEntries(endTokens.map((token) => [token, -100])),
    stream: true,
    stream_options: { include_usage: true },
  };
}

test.for([{ streams: 1 }, { streams: 4 }])(
  "the throughput at concurrency $streams is at least 0.98 of the baseline's",
  { timeout: 600_000 },
  async ({ streams }, context) => {
    await using pair = await startPair(context);
    const { ratio, medians, rounds } = await comparePair(pair, {
      name: `throughput-${streams}`,
      turns: sized(9, 1),
      prepare: (url) => measureThroughput(url, streams),
    });
    const speeds = medians.map((each) => each.toFixed(1)).join(" against ");
    const ratios = rounds.map(([present, baseline]) => present / baseline);
    recordFigure({
      claim: "guard 10",
      text: `throughput at concurrency ${streams} ${ratio.toFixed(3)} of ${baselineCommit} (rounds ${formatRange(ratios, 3)}; ${speeds} tokens/s), needed ${minRatio}`,
    });
    expect(ratio).toBeGreaterThanOrEqual(lowerBound(minRatio));
  },
);

/** Requests whose first byte is timed; the chats repeat one prompt, which both servers then have in their caches. */
const firstBytes = [
  ...chatStreams.map(({ path, body }) => ({
    path,
    turns: sized(41, 3),
    time: (url: string) => timeStream(url, body("What is 2+2?", 2)),
  })),
  ...["/api/tags", "/v1/models"].map((path) => ({ path, turns: sized(201, 3), time: timeGet })),
];

test.for(firstBytes)(
  "the first byte of $path arrives at most 1 ms after the baseline's",
  { timeout: 600_000 },
  async ({ path, turns, time }, context) => {
    await using pair = await startPair(context);
    const { medians, rounds } = await comparePair(pair, {
      name: `first-byte${path.replaceAll("/", "-")}`,
      turns,
      prepare: (url) => async () => (await time(url + path)).firstMilliseconds,
    });
    const added = rounds.map(([present, baseline]) => present - baseline);
    const times = medians.map((each) => each.toFixed(2)).join(" against ");
    recordFigure({
      claim: "guard 10",
      text: `first byte of ${path} ${median(added).toFixed(2)} ms after ${baselineCommit} (rounds ${formatRange(added, 2)}; ${times} ms), needed ${maxAddedMilliseconds} or less`,
    });
    expect(median(added)).toBeLessThanOrEqual(upperBound(maxAddedMilliseconds));
  },
);

/** Shows how far the rounds are apart: a wide range means a busy machine. */
function formatRange(values: readonly number[], digits: number): string {
  return `${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)}`;
}
