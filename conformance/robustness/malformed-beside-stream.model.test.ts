import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { smol } from "../../apps/hearth/src/test/start-test-server.ts";
import { runAll, type Trial, trialsOf } from "./malformed-trials.ts";
import { sendBody } from "./send-bytes.ts";
import { type ObservedServer, readMegabytes, smallHeap } from "./start-observed-server.ts";
import { startRealEngineServer } from "./start-real-engine-server.ts";
import { isForMissing, rowsWithBody, validBodyOf } from "./valid-bodies.ts";
import { workersOf } from "./workers-of.ts";

const needed = chooseSize({ ci: 1000, show: 10_000, nightly: 50_000 });
const stride = chooseSize({ ci: 8, show: 2, nightly: 1 });
/** Uses every nth malformed request of each route. */
const trialStep = chooseSize({ ci: 10, show: 1, nightly: 1 });
const rounds = chooseSize({ ci: 1, show: 1, nightly: 3 });
const maxGrowthMegabytes = 50;
const slots = 4;
const tokensPerStream = 12;

/** Under the name that valid bodies use; a malformed request that is accepted generates few tokens. */
const models = { tiny: { ...smol, extras: { parameters: { num_predict: 4 } } } };

async function startServer(): Promise<ObservedServer> {
  const transferLimits = {
    retryPolicy: { maxAttempts: 1, initialDelayMilliseconds: 0, maxDelayMilliseconds: 0 },
  };
  const limits = { sequences: slots, contextTokens: 256 };
  return startRealEngineServer({ models, limits, transferLimits }, { nodeOptions: smallHeap });
}

/** Sends the valid body of every route, which also loads the model for text and for embeddings. */
async function sendValidBodies({ url }: ObservedServer): Promise<void> {
  for (const row of rowsWithBody) {
    const response = await sendBody(`${url}${row.path}`, row.method, JSON.stringify(validBodyOf(row)));
    expect([row.path, response.status]).toEqual([row.path, isForMissing(row) ? 404 : 200]);
  }
}

/** A client of the attacked model that streams one response after another. */
class Neighbour {
  completed = 0;
  readonly failures: string[] = [];
  readonly #url: string;
  #isEnding = false;
  readonly #done: Promise<void>;

  constructor({ url }: ObservedServer) {
    this.#url = url;
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#isEnding = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      const text = await this.#stream().catch(String);
      if (text.includes('"done":true') && text.includes(`"eval_count":${tokensPerStream},`))
        this.completed += 1;
      else this.failures.push(text.slice(-300));
    }
  }

  async #stream(): Promise<string> {
    const options = { num_predict: tokensPerStream, temperature: 0 };
    const request = { model: "tiny", prompt: "Count: one, two, three, four, five,", raw: true, options };
    const response = await fetch(`${this.#url}/api/generate`, {
      method: "POST",
      body: JSON.stringify(request),
    });
    return response.text();
  }
}

/**
 * Loads the model to generate text, and returns the process that does so. The one for embeddings is loaded later, and
 * may be unloaded by a request with a short `keep_alive`.
 */
async function loadModel({ url, pid }: ObservedServer): Promise<number> {
  await sendBody(`${url}/api/generate`, "POST", JSON.stringify({ model: "tiny" }));
  const [largest = 0] = workersOf(pid).toSorted((a, b) => readMegabytes(b) - readMegabytes(a));
  return largest;
}

type Attacked = { readonly server: ObservedServer; readonly worker: number };
type Growth = { readonly server: number; readonly worker: number };

/** Runs all trials, collects their faults and returns by how many megabytes the memory grew. */
async function runTrials(
  { server, worker }: Attacked,
  trials: readonly Trial[],
  faults: string[],
): Promise<Growth> {
  await runAll(trials.filter((_trial, index) => index % 5 === 0));
  const before = await server.measureMegabytes();
  const half = Math.ceil(trials.length / 2);
  faults.push(...(await runAll(trials.slice(0, half))));
  // Nothing collects the garbage of a worker, so its memory grows until V8 does. A leak grows every time.
  const workerGrowths: number[] = [];
  const parts = [trials.slice(half), ...Array.from({ length: rounds - 1 }, () => trials)];
  while (parts.length > 0 || (Math.min(...workerGrowths) >= maxGrowthMegabytes && workerGrowths.length < 4)) {
    const workerBefore = readMegabytes(worker);
    faults.push(...(await runAll(parts.shift() ?? trials)));
    workerGrowths.push(readMegabytes(worker) - workerBefore);
  }
  return {
    server: (await server.measureMegabytes()) - before,
    worker: Math.min(...workerGrowths),
  };
}

function createTrials({ url }: ObservedServer): readonly Trial[] {
  return rowsWithBody.flatMap((row) =>
    [...trialsOf(row, { url, stride })].filter((_trial, index) => index % trialStep === 0),
  );
}

test("malformed requests to a real engine are rejected while a neighbour streams, without a crash or memory growth", {
  timeout: 1_800_000,
}, async () => {
  await using server = await startServer();
  const worker = await loadModel(server);
  await sendValidBodies(server);
  const neighbour = new Neighbour(server);
  const trials = createTrials(server);
  const faults: string[] = [];
  const growth = await runTrials({ server, worker }, trials, faults);
  expect(server.isRunning()).toBe(true);
  expect(workersOf(server.pid)).toContain(worker);
  await neighbour.stop();
  expect(faults).toEqual([]);
  expect(neighbour.failures).toEqual([]);
  expect(neighbour.completed).toBeGreaterThan(0);
  expect(growth.server).toBeLessThan(maxGrowthMegabytes);
  expect(growth.worker).toBeLessThan(maxGrowthMegabytes);
  await sendValidBodies(server);
  const reached = trials.length * rounds;
  recordFigure({
    claim: "guard 9",
    text: `M3: ${reached} malformed requests (needed ${needed}) to ${rowsWithBody.length} routes of a server with SmolLM2 loaded: no 5xx response but 503, every error in the format of its API, server and worker never exited, memory of the server grew ${growth.server.toFixed(1)} MB, of the worker at least ${growth.worker.toFixed(1)} MB (at most ${maxGrowthMegabytes}); ${neighbour.completed} of ${neighbour.completed} streams of a neighbour were complete`,
    counted: { reached, needed },
  });
  expect(reached).toBeGreaterThanOrEqual(needed);
});
