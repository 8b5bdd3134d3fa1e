import { hasLooseTimingBounds, recordFigure, scale } from "@hearth-and-keep/figures";
import {
  makeTemporaryFolder,
  readProcessFile,
  type TemporaryFolder,
  type TestModelName,
  testModel,
} from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packAndInstall } from "../claims/ground/pack-and-install.ts";
import { compare, upperBound } from "./rounds.ts";
import { presentProgram, type Served, startProgram, timeStream } from "./served.ts";
import { workerProcesses } from "./worker-processes.ts";
import { startYardstick, yardstick } from "./yardstick.ts";

const smol = "smollm2-135m-instruct-q4_1.gguf";
/** What a model is loaded with at default settings. */
const contextTokens = 8192;
/** Eight sequences of SmolLM2 take more. */
const allSequencesMegabytes = 1500;
const max = { memoryRatio: 1.3, megabytes: 400, startRatio: 1.5, startMilliseconds: 800 };

function chat(maxTokens: number) {
  return {
    model: "model",
    messages: [{ role: "user", content: "Tell a story about a lighthouse." }],
    temperature: 0,
    max_tokens: maxTokens,
    stream: true,
    stream_options: { include_usage: true },
  };
}

let folder: TemporaryFolder;
let program: string;

// As people have it: in a clone, a model's process would compile its modules first. Installing takes most of the time, and
// other tests of CI run the installed program.
beforeAll(async () => {
  folder = await makeTemporaryFolder("default-costs");
  program = scale === "ci" ? presentProgram.path : packAndInstall("hearth", folder.path).program;
}, 300_000);
afterAll(() => folder[Symbol.asyncDispose]());

function startHearth(model: TestModelName): Promise<Served> {
  return startProgram({ ...presentProgram, path: program }, model, {});
}

function residentMegabytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/mu.exec(readProcessFile(pid, "status"))?.[1] ?? Number.NaN) / 1000;
}

/** The memory of a model's process after one chat, once it no longer changes. */
async function measureMemory(model: TestModelName): Promise<number> {
  await using hearth = await startHearth(model);
  await timeStream(`${hearth.url}/v1/chat/completions`, chat(64));
  const [pid = -1] = workerProcesses();
  let megabytes = residentMegabytes(pid);
  const hasSettled = (): boolean => {
    const before = megabytes;
    megabytes = residentMegabytes(pid);
    return megabytes < allSequencesMegabytes && Math.abs(before - megabytes) < 1;
  };
  await expect.poll(hasSettled, { timeout: 30_000, interval: 1000 }).toBe(true);
  return megabytes;
}

async function measureLlamaServer(): Promise<number> {
  await using server = await startYardstick({ model: await testModel(smol), contextTokens });
  await timeStream(`${server.url}/v1/chat/completions`, chat(64));
  return residentMegabytes(server.process.pid);
}

test("one chat costs the memory of one sequence, although eight are ready", {
  timeout: 300_000,
}, async () => {
  const ours = await measureMemory(smol);
  // Node.js, the binding and its libraries, with a model of one megabyte.
  const constant = await measureMemory("tiny-llama.gguf");
  const theirs = await measureLlamaServer();
  const ratio = (ours - constant) / theirs;
  recordFigure({
    claim: "lean 1",
    text: `${ratio.toFixed(2)} of ${yardstick} with one slot, needed ${max.memoryRatio}: ${ours.toFixed(0)} MB resident (at most ${max.megabytes}), of which ${constant.toFixed(0)} MB are Node.js and the binding, against ${theirs.toFixed(0)} MB`,
  });
  expect(ratio).toBeLessThanOrEqual(upperBound(max.memoryRatio));
  expect(ours).toBeLessThanOrEqual(hasLooseTimingBounds ? 2 * max.megabytes : max.megabytes);
});

/** From the request to its first token, including the load; the model is unloaded again. */
async function timeColdRequest({ url }: Served): Promise<number> {
  const { firstMilliseconds } = await timeStream(`${url}/v1/chat/completions`, { ...chat(2), keep_alive: 0 });
  await expect.poll(() => workerProcesses().length).toBe(0);
  return firstMilliseconds;
}

/** From starting the program to the first token, as long as a person who starts it by hand waits. */
async function timeLlamaServer(): Promise<number> {
  const startedAt = performance.now();
  await using server = await startYardstick({ model: await testModel(smol), contextTokens });
  const untilReady = performance.now() - startedAt;
  return untilReady + (await timeStream(`${server.url}/v1/chat/completions`, chat(2))).firstMilliseconds;
}

test("the first token of a model that is not loaded comes nearly as soon as from llama.cpp's own server", {
  timeout: 300_000,
}, async () => {
  await using hearth = await startHearth(smol);
  const { ratio, medians } = await compare(
    "cold-start",
    { name: "Hearth", measure: () => timeColdRequest(hearth) },
    { name: "llama-server", measure: timeLlamaServer },
  );
  const [ours, theirs] = medians;
  recordFigure({
    claim: "lean 3",
    text: `${ratio.toFixed(2)} of ${yardstick}, started by hand, needed ${max.startRatio}: ${ours.toFixed(0)} ms (at most ${max.startMilliseconds}) against ${theirs.toFixed(0)} ms`,
  });
  expect(ratio).toBeLessThanOrEqual(upperBound(max.startRatio));
  expect(ours).toBeLessThanOrEqual(hasLooseTimingBounds ? 60_000 : max.startMilliseconds);
});
