import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createFromFile } from "../../apps/hearth/src/models/create-from-file.ts";
import { openModelStore } from "../../apps/hearth/src/models/store/model-store.ts";
import { createMemoryGroup, type MemoryGroup } from "./memory-group.ts";
import type { ObservedServer } from "./start-observed-server.ts";
import { startRealEngineServer } from "./start-real-engine-server.ts";
import { workersOf } from "./workers-of.ts";

const limitBytes = 2 * 1024 ** 3;
const mebibyte = 1024 ** 2;
const rounds = chooseSize({ ci: 1, show: 2, nightly: 10 });
/** The cache of one sequence takes 23,040 bytes per token: 755 MB for the largest context that fits beside the rest. */
const fitting = chooseSize({
  ci: [512, 4096, 8192, 32_768],
  show: [512, 1024, 2048, 4096, 8192, 16_384, 32_768],
  nightly: [512, 1024, 2048, 4096, 8192, 16_384, 32_768],
});
/** 1.5 and 3 GB for one sequence. */
const tooLarge = [65_536, 131_072];
const parallelRequests = 8;
/** What a rejected request may add to the memory of the group; a worker without any model takes 100 MiB. */
const maxRejectionBytes = 32 * mebibyte;

/** SmolLM2 with its real weights, which claims to be trained on 131,072 tokens, so that no context is reduced. */
async function createLongModel(folder: string): Promise<string> {
  const bytes = await readFile(await testModel("smollm2-135m-instruct-q4_1.gguf"));
  const key = "llama.context_length";
  // The key is followed by the type of its value and the value, four bytes each.
  bytes.writeUInt32LE(Math.max(...tooLarge), bytes.indexOf(key) + key.length + 4);
  const file = join(folder, "long.gguf");
  await writeFile(file, bytes);
  const storeFolder = join(folder, "models");
  await createFromFile([await openModelStore(storeFolder, "own")], { name: "long", file });
  return storeFolder;
}

async function post({ url }: ObservedServer, body: object): Promise<Readonly<Record<string, unknown>>> {
  const json = JSON.stringify({ model: "long", stream: false, ...body });
  const response = await fetch(`${url}/api/generate`, { method: "POST", body: json });
  // Ollama's API responds with an object.
  return { status: response.status, ...((await response.json()) as object) };
}

function requestOf(contextTokens: number): object {
  const options = { num_ctx: contextTokens, num_predict: 4, temperature: 0 };
  return { prompt: "Count: one, two, three, four, five,", raw: true, options };
}

/** The status is not 503, because the same request fails again, so that clients must not retry it. */
async function rejectContext(server: ObservedServer, contextTokens: number): Promise<void> {
  const response = await post(server, requestOf(contextTokens));
  expect(response).toMatchObject({ status: 500, code: "insufficient-memory" });
  const neededBytes = Number(response["needed_bytes"]);
  expect(neededBytes).toBeGreaterThan(contextTokens * 23_040);
  expect(response["error"]).toContain(`${(neededBytes / 1024 ** 3).toFixed(1)} GiB`);
  expect(workersOf(server.pid)).toEqual([]);
}

/** Loads the model with this context, and with as many sequences as the memory allows; all are used at once. */
async function serveContext(server: ObservedServer, contextTokens: number): Promise<void> {
  const preload = { options: { num_ctx: contextTokens } };
  expect(await post(server, preload)).toMatchObject({ status: 200, done_reason: "load" });
  const responses = await Promise.all(
    Array.from({ length: parallelRequests }, () => post(server, requestOf(contextTokens))),
  );
  for (const response of responses)
    expect(response, JSON.stringify(response)).toMatchObject({ status: 200, done: true, eval_count: 4 });
  const loaded: unknown = await (await fetch(`${server.url}/api/ps`)).json();
  expect(loaded).toMatchObject({ models: [{ loaded_context_length: contextTokens }] });
  expect(await post(server, { keep_alive: 0 })).toMatchObject({ status: 200 });
  await expect.poll(() => workersOf(server.pid)).toEqual([]);
}

async function sweepContexts(server: ObservedServer, group: MemoryGroup): Promise<void> {
  const idleBytes = group.readPeakBytes();
  for (const contextTokens of tooLarge) await rejectContext(server, contextTokens);
  // The peak never falls, so only rejections before the first load can show that nothing was allocated.
  expect(group.readPeakBytes() - idleBytes).toBeLessThan(maxRejectionBytes);
  for (let round = 0; round < rounds; round += 1) {
    for (const contextTokens of fitting) await serveContext(server, contextTokens);
    for (const contextTokens of tooLarge) await rejectContext(server, contextTokens);
  }
}

test("in a cgroup of 2 GiB, contexts that fit are served and larger ones are rejected before anything is allocated", {
  timeout: 1_800_000,
}, async () => {
  const group = createMemoryGroup(limitBytes);
  if (typeof group === "string") {
    const text = `M7: not measured in a cgroup of 2 GiB, because none can be created here: ${group}`;
    process.stdout.write(`${text}\n`);
    recordFigure({ claim: "guard 9", text });
    return;
  }
  await using stack = new AsyncDisposableStack();
  stack.use(group);
  const folder = stack.use(await makeTemporaryFolder("memory-limit"));
  const storeFolder = await createLongModel(folder.path);
  const server = stack.use(
    await startRealEngineServer(
      { models: {}, storeFolder, limits: { contextTokens: 512, sequences: parallelRequests } },
      { cgroupProcsPath: group.procsPath },
    ),
  );
  await sweepContexts(server, group);
  expect(server.isRunning()).toBe(true);
  expect([group.wasOomKilled(), group.countLimitHits()]).toEqual([false, 0]);
  const peakBytes = group.readPeakBytes();
  expect(peakBytes).toBeLessThan(limitBytes);
  const [served, rejected] = [fitting.length * rounds, tooLarge.length * (rounds + 1)];
  recordFigure({
    claim: "guard 9",
    text: `M7: in a cgroup of 2 GiB, ${served} of ${served} loads with contexts of ${fitting[0]} to ${fitting.at(-1)} tokens answered ${parallelRequests} requests each, ${rejected} of ${rejected} with ${tooLarge.join(" and ")} were rejected before anything was allocated, with the bytes they need; peak ${(peakBytes / mebibyte).toFixed(0)} MiB of ${limitBytes / mebibyte}, limit reached 0 times, server never killed`,
    counted: { reached: served + rejected, needed: served + rejected },
  });
});
