import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { chooseSize, hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { percentile } from "../../bench/rounds.ts";
import { startHearth } from "../../bench/served.ts";
import type { HarmfulKind } from "./harmful-bases.ts";
import { harmfulKinds } from "./harmful-corpus.ts";

const maxGapMilliseconds = hasLooseTimingBounds ? 5000 : 250;
/** In CI one of so many kinds is sent. */
const stride = chooseSize({ ci: 12, show: 1, nightly: 1 });
const chosen = harmfulKinds.filter((_kind, index) => index % stride === 0);
const maxSeconds = 30;

/** Streams without a pause, and records the time of every chunk. */
class Neighbour {
  readonly times: number[] = [];
  readonly failures: string[] = [];
  readonly #url: string;
  readonly #end = new AbortController();
  readonly #done: Promise<void>;

  constructor(url: string) {
    this.#url = url;
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await this.#done;
  }

  async waitForChunks(count: number): Promise<void> {
    const wanted = this.times.length + count;
    const deadline = performance.now() + 60_000;
    while (this.times.length < wanted && this.failures.length === 0 && performance.now() < deadline) {
      await sleep(10);
    }
  }

  async #run(): Promise<void> {
    const body = JSON.stringify({
      model: "model",
      prompt: "Tell a long story about a hearth.",
      options: { num_predict: 400, temperature: 0 },
    });
    while (!this.#end.signal.aborted) {
      try {
        const response = await fetch(`${this.#url}/api/generate`, {
          method: "POST",
          body,
          signal: this.#end.signal,
        });
        let text = "";
        for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
          this.times.push(performance.now());
          text = (text + chunk).slice(-40_000);
        }
        if (!text.includes('"done":true')) this.failures.push(text.slice(-200));
      } catch (error) {
        if (!this.#end.signal.aborted) this.failures.push(String(error));
      }
    }
  }
}

/** Sent by another process, so that building and sending it does not delay the measurement. */
async function send(url: string, { path }: HarmfulKind, file: string): Promise<number> {
  const args = [
    "-s",
    "-o",
    "/dev/null",
    "-w",
    "%{http_code}",
    "--max-time",
    String(maxSeconds),
    "-H",
    "expect:",
  ];
  const all = [...args, "--data-binary", `@${file}`, `${url}${path}`];
  const { stdout } = await promisify(execFile)("curl", all).catch((error: { stdout?: string }) => ({
    stdout: error.stdout ?? "",
  }));
  return Number(stdout);
}

type Outcome = {
  readonly name: string;
  readonly p99: number;
  readonly status: number;
  readonly harmless: number;
};

test("no single harmful request delays, fails or kills another client's stream, and its harmless counterpart is answered", {
  timeout: 3_600_000,
}, async () => {
  await using folder = await makeTemporaryFolder("harmful");
  await using hearth = await startHearth("smollm2-135m-instruct-q4_1.gguf", {
    HEARTH_THREADS: "1",
    HEARTH_CONTEXT_LENGTH: "4096",
    HEARTH_PARALLEL_REQUESTS: "4",
  });
  const { url } = hearth;
  const neighbour = new Neighbour(url);
  await neighbour.waitForChunks(20);
  const outcomes: Outcome[] = [];
  const file = join(folder.path, "body");
  for (const kind of chosen) {
    await writeFile(file, kind.harmful());
    await sleep(300);
    const first = neighbour.times.length - 1;
    const status = await send(url, kind, file);
    await neighbour.waitForChunks(12);
    const gaps = neighbour.times.slice(first).map((time, index, all) => time - (all[index - 1] ?? time));
    await writeFile(file, kind.harmless());
    outcomes.push({
      name: kind.name,
      p99: percentile(gaps, 0.99),
      status,
      harmless: await send(url, kind, file),
    });
  }
  await neighbour.stop();
  const events = await (await fetch(`${url}/metrics`)).text();
  const slow = outcomes.filter(({ p99 }) => p99 > maxGapMilliseconds);
  const worst = outcomes.reduce((one, other) => (one.p99 > other.p99 ? one : other));
  recordFigure({
    claim: "guard 1",
    text: `${outcomes.length - slow.length} of ${outcomes.length} kinds of harmful requests (of ${harmfulKinds.length}) left a neighbour's p99 token gap within ${maxGapMilliseconds} ms, the worst ${worst.p99.toFixed(0)} ms beside ${worst.name}; ${neighbour.failures.length} of its streams failed`,
    counted: { reached: outcomes.length - slow.length, needed: outcomes.length },
  });
  for (const { name, p99, status } of outcomes)
    process.stdout.write(`${p99.toFixed(0)} ms, status ${status}: ${name}\n`);
  expect(neighbour.failures).toEqual([]);
  expect(events).toMatch(/event="model-loaded"/u);
  expect(events).not.toMatch(/reason="crashed"|event="load-failed"/u);
  expect(outcomes.filter(({ status }) => status >= 500 && ![503, 507, 529].includes(status))).toEqual([]);
  expect(outcomes.filter(({ name, harmless }) => !answered(name).includes(harmless))).toEqual([]);
  expect(slow).toEqual([]);
});

test("the corpus has at least sixty kinds with different names", () => {
  expect(new Set(harmfulKinds.map(({ name }) => name)).size).toBe(harmfulKinds.length);
  expect(harmfulKinds.length).toBeGreaterThanOrEqual(60);
});

/** SmolLM2's template has no tools, which some of the APIs report. */
function answered(name: string): readonly number[] {
  return /tool|input_schema/u.test(name) ? [200, 400] : [200];
}
