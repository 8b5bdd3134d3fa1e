import { setTimeout as sleep } from "node:timers/promises";
import { CrashBreaker } from "@hearth-and-keep/engine-host";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { createLlamaDriver } from "@hearth-and-keep/llama-engine";
import { preparedWorker } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { smol, startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { percentile, upperBound, worstOf } from "../../bench/rounds.ts";
import { workerProcesses } from "../../bench/worker-processes.ts";

const kills = chooseSize({ ci: 3, show: 50, nightly: 500 });
/** Of each stream before a kill, while the gaps of the other model are recorded for comparison. */
const undisturbedTokens = chooseSize({ ci: 12, show: 40, nightly: 40 });
const signals = ["SIGKILL", "SIGSEGV", "SIGABRT"] as const;
const maxErrorMilliseconds = 500;
const maxReloadMilliseconds = 5000;
const maxGapRatio = 2;
const quarantineSeconds = 60;
const story = "Tell a very long story about the sea.";
const beginning = "Once upon a time there was a small boat that";

type Endpoint = {
  readonly path: string;
  readonly body: (maxTokens: number) => object;
  /** Matches once in the output of every token. */
  readonly token: RegExp;
  /** The end of a complete stream, and of a failed one; a failed one has no sign of completion. */
  readonly complete: RegExp;
  readonly failed: RegExp;
  /** Status of a request to a model in quarantine; Anthropic's API has no 503. */
  readonly quarantined: number;
};

const ollama = {
  complete: /"done":true[^\n]*\}\n$/u,
  failed: /"done":false\}\n\{"error":"[^"]+"[^\n]*\}\n$/u,
  quarantined: 503,
};
const openai = {
  complete: /data: \[DONE\]\n\n$/u,
  failed: /\n\ndata: \{"error":\{"message":"[^\n]*\}\}\n\n$/u,
  quarantined: 503,
};

const endpoints: readonly Endpoint[] = [
  {
    path: "/api/chat",
    body: (maxTokens) => ({ messages: [turn()], options: greedy(maxTokens) }),
    token: /"content":"[^"]+"\},"done":false/gu,
    ...ollama,
  },
  {
    path: "/api/generate",
    body: (maxTokens) => ({ prompt: story, options: greedy(maxTokens) }),
    token: /"response":"[^"]+","done":false/gu,
    ...ollama,
  },
  {
    path: "/v1/chat/completions",
    body: (maxTokens) => ({ messages: [turn()], max_tokens: maxTokens, temperature: 0 }),
    token: /"content":"[^"]/gu,
    ...openai,
  },
  {
    path: "/v1/completions",
    body: (maxTokens) => ({ prompt: beginning, max_tokens: maxTokens, temperature: 0 }),
    token: /"text":"[^"]/gu,
    ...openai,
  },
  {
    path: "/v1/responses",
    body: (maxTokens) => ({ input: story, max_output_tokens: maxTokens, temperature: 0 }),
    token: /event: response\.output_text\.delta/gu,
    complete: /event: response\.(?:completed|incomplete)\ndata: [^\n]*\n\n$/u,
    failed: /event: error\ndata: \{"type":"error"[^\n]*\}\n\nevent: response\.failed\ndata: [^\n]*\n\n$/u,
    quarantined: 503,
  },
  {
    path: "/v1/messages",
    body: (maxTokens) => ({ messages: [turn()], max_tokens: maxTokens, temperature: 0 }),
    token: /"text_delta","text":"[^"]/gu,
    complete: /event: message_stop\ndata: [^\n]*\n\n$/u,
    failed: /event: error\ndata: \{"type":"error","error":\{"type":"api_error"[^\n]*\}\n\n$/u,
    quarantined: 500,
  },
];

function turn() {
  return { role: "user", content: story };
}

function greedy(maxTokens: number) {
  return { num_predict: maxTokens, temperature: 0 };
}

type Model = { readonly url: string; readonly model: string };

function post({ url, model }: Model, { path }: Pick<Endpoint, "path">, body: object): Promise<Response> {
  const json = JSON.stringify({ model, stream: true, ...body });
  return fetch(`${url}${path}`, { method: "POST", body: json });
}

type Stream = {
  readonly endpoint: Endpoint;
  readonly countTokens: () => number;
  /** Rejects if the connection ends without the last chunk. */
  readonly ended: Promise<{ readonly text: string; readonly at: number }>;
};

function openStream(model: Model, endpoint: Endpoint, maxTokens: number): Stream {
  let text = "";
  const read = async (): Promise<{ readonly text: string; readonly at: number }> => {
    const response = await post(model, endpoint, endpoint.body(maxTokens));
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk;
    return { text, at: performance.now() };
  };
  return { endpoint, countTokens: () => [...text.matchAll(endpoint.token)].length, ended: read() };
}

/** Polls what must come; a minute is far more than it takes. */
async function until(isDone: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!isDone()) {
    if (performance.now() > deadline) throw new Error(`Not within a minute: ${what}`);
    await sleep(2);
  }
}

/** Streams of another model without a pause, with the time between two tokens. */
class Neighbour {
  readonly gaps = { undisturbed: new Array<number>(), killing: new Array<number>() };
  /** Which gaps are recorded now; undefined while nothing is compared. */
  phase: keyof Neighbour["gaps"] | undefined;
  readonly failures: string[] = [];
  completed = 0;
  readonly #model: Model;
  #isEnding = false;
  readonly #done: Promise<void>;

  constructor(model: Model) {
    this.#model = model;
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#isEnding = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      try {
        await this.#stream();
        this.completed += 1;
      } catch (error) {
        this.failures.push(String(error));
        return;
      }
    }
  }

  async #stream(): Promise<void> {
    const options = greedy(300);
    const response = await post(this.#model, { path: "/api/generate" }, { prompt: story, options });
    let text = "";
    let last: number | undefined;
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const now = performance.now();
      if (last !== undefined && this.phase !== undefined) this.gaps[this.phase].push(now - last);
      last = now;
      text += chunk;
    }
    if (!ollama.complete.test(text)) throw new Error(`not complete: ${text.slice(-200)}`);
  }
}

/** "complete", "failed", or the text of a stream that is neither. */
type Ending = readonly [path: string, ending: string];

async function readEndings(streams: readonly Stream[]): Promise<readonly Ending[]> {
  return Promise.all(
    streams.map(async ({ endpoint, ended }) => {
      const { path, complete, failed } = endpoint;
      const { text } = await ended;
      const hasDone = text.includes("[DONE]") || text.includes('"done":true');
      const ending = complete.test(text) ? "complete" : failed.test(text) && !hasDone ? "failed" : text;
      return [path, ending] as const;
    }),
  );
}

function endings(ending: string): readonly Ending[] {
  return endpoints.map(({ path }) => [path, ending] as const);
}

/** The text that a model returns for the same request before and after its worker is killed. */
async function count(model: Model): Promise<string> {
  const request = { prompt: "Count: one, two, three, four, five,", raw: true, stream: false };
  const response = await post(model, { path: "/api/generate" }, { ...request, options: greedy(8) });
  const text = await response.text();
  return /"response":"([^"]*)"/u.exec(text)?.[1] ?? text;
}

/** Kills the worker while every API streams, and returns how long the clients waited for their error. */
async function killWhileStreaming(
  victim: Model,
  { pid, signal, tokens }: { readonly pid: number; readonly signal: NodeJS.Signals; readonly tokens: number },
): Promise<readonly number[]> {
  const streams = endpoints.map((endpoint) => openStream(victim, endpoint, 900));
  await until(() => streams.every((stream) => stream.countTokens() >= tokens), "tokens of every stream");
  const killedAt = performance.now();
  process.kill(pid, signal);
  expect(await readEndings(streams)).toEqual(endings("failed"));
  const ended = await Promise.all(streams.map((stream) => stream.ended));
  return ended.map(({ at }) => at - killedAt);
}

function victimPid(neighbourPid: number): number {
  const [pid, ...others] = workerProcesses().filter((each) => each !== neighbourPid);
  if (pid === undefined || others.length > 0) {
    throw new Error(
      `${others.length + (pid === undefined ? 0 : 1)} workers of the killed model instead of one`,
    );
  }
  return pid;
}

async function driverWith(breaker: CrashBreaker) {
  return createLlamaDriver({ ...(await preparedWorker()), breaker });
}

test("killed workers end every stream with an error of its API, and neither the server nor another model notices", {
  timeout: 7_200_000,
}, async () => {
  // A clock on which each kill is two minutes after the last one, so that the model is never quarantined.
  let killed = 0;
  await using server = await startTestServer({
    // Another template makes it another load, although the weights are the same.
    models: { victim: smol, neighbour: { ...smol, extras: { template: "{{ .Prompt }}" } } },
    driver: await driverWith(new CrashBreaker(() => killed * 120_000)),
    limits: { sequences: endpoints.length },
  });
  const victim = { url: server.url, model: "victim" };
  const expected = await count({ ...victim, model: "neighbour" });
  expect(expected).toContain("six, seven");
  const [neighbourPid = 0] = workerProcesses();
  expect(await count(victim)).toBe(expected);
  const neighbour = new Neighbour({ ...victim, model: "neighbour" });
  const times = { error: new Array<number>(), reload: new Array<number>() };
  const seenPids = new Set<number>();
  // The server runs in this process, so its exit would end the test.
  for (; killed < kills; killed += 1) {
    neighbour.phase = "undisturbed";
    const undisturbed = endpoints.map((endpoint) => openStream(victim, endpoint, undisturbedTokens));
    expect(await readEndings(undisturbed)).toEqual(endings("complete"));
    neighbour.phase = "killing";
    const pid = victimPid(neighbourPid);
    seenPids.add(pid);
    const signal = signals[killed % signals.length] ?? "SIGKILL";
    times.error.push(...(await killWhileStreaming(victim, { pid, signal, tokens: 1 + (killed % 16) })));
    const reloadedFrom = performance.now();
    expect(await count(victim)).toBe(expected);
    times.reload.push(performance.now() - reloadedFrom);
    neighbour.phase = undefined;
    expect((await fetch(`${server.url}/api/version`)).status).toBe(200);
  }
  await neighbour.stop();
  expect(neighbour.failures).toEqual([]);
  expect(seenPids.size).toBe(kills);
  expect(workerProcesses()).toContain(neighbourPid);
  expect(server.scheduler.running().map(({ leases, waiting }) => [leases, waiting])).toEqual([
    [0, 0],
    [0, 0],
  ]);
  checkKills(neighbour, times);
});

function checkKills(
  { gaps, completed }: Neighbour,
  { error, reload }: Readonly<Record<"error" | "reload", readonly number[]>>,
): void {
  const [before, during] = [percentile(gaps.undisturbed, 0.99), percentile(gaps.killing, 0.99)];
  const ratio = during / before;
  const streams = kills * endpoints.length;
  expect(error).toHaveLength(streams);
  expect(worstOf(error)).toBeLessThanOrEqual(upperBound(maxErrorMilliseconds));
  expect(worstOf(reload)).toBeLessThanOrEqual(upperBound(maxReloadMilliseconds));
  expect(ratio).toBeLessThanOrEqual(upperBound(maxGapRatio));
  recordFigure({
    claim: "guard 9",
    text: `M1: ${reload.length} of ${kills} workers killed while streaming (SIGKILL, SIGSEGV, SIGABRT): ${error.length} of ${streams} streams of ${endpoints.length} endpoints got the error of their API and a clean end after at most ${Math.max(...error).toFixed(0)} ms (needed ${maxErrorMilliseconds}), reload at most ${Math.max(...reload).toFixed(0)} ms (needed ${maxReloadMilliseconds}), p99 token gap of the other model ${during.toFixed(0)} ms in ${gaps.killing.length} gaps, ${ratio.toFixed(2)} times its ${before.toFixed(0)} ms in ${gaps.undisturbed.length} undisturbed ones (needed ${maxGapRatio}), ${completed} of its ${completed} responses complete`,
    counted: { reached: reload.length, needed: kills },
  });
}

test("three killed workers within a minute quarantine their model, and only that one, until the minute is over", async () => {
  let skippedMilliseconds = 0;
  const breaker = new CrashBreaker(() => performance.now() + skippedMilliseconds);
  await using server = await startTestServer({
    models: { victim: tiny, other: smol },
    driver: await driverWith(breaker),
    limits: { sequences: endpoints.length },
  });
  const [victim, other] = [
    { url: server.url, model: "victim" },
    { url: server.url, model: "other" },
  ];
  const expected = [await count(other), await count(victim)];
  const [otherPid = 0] = workerProcesses();
  for (const signal of signals) {
    expect(await count(victim)).toBe(expected[1]);
    await killWhileStreaming(victim, { pid: victimPid(otherPid), signal, tokens: 1 });
  }
  for (const endpoint of endpoints) {
    const response = await post(victim, endpoint, endpoint.body(4));
    await response.text();
    expect([endpoint.path, response.status]).toEqual([endpoint.path, endpoint.quarantined]);
    const seconds = Number(response.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(quarantineSeconds);
  }
  expect(await count(other)).toBe(expected[0]);
  expect(workerProcesses()).toEqual([otherPid]);
  skippedMilliseconds = quarantineSeconds * 1000;
  expect(await count(victim)).toBe(expected[1]);
  recordFigure({
    claim: "guard 9",
    text: `M1: after ${signals.length} deaths within ${quarantineSeconds} s, ${endpoints.length} of ${endpoints.length} endpoints rejected the model with Retry-After, the other model kept its worker, and the model loaded again afterwards`,
    counted: { reached: endpoints.length, needed: endpoints.length },
  });
});
