import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import {
  smol,
  startTestServer,
  type TestServer,
  tiny,
} from "../../apps/hearth/src/test/start-test-server.ts";
import { workerProcesses } from "../../bench/worker-processes.ts";

const rounds = chooseSize({ ci: 3, show: 6, nightly: 200 });
const maxGrowthMegabytes = 50;

type Loaded = {
  readonly name: string;
  readonly expires_at: string;
  readonly context_length: number;
  readonly size: number;
};

async function loadedModels({ url }: TestServer): Promise<readonly Loaded[]> {
  const response = await fetch(`${url}/api/ps`);
  // The response format is checked by the route's own tests.
  const { models } = (await response.json()) as { models: readonly Loaded[] };
  return models;
}

async function namesLoaded(server: TestServer): Promise<readonly string[]> {
  return (await loadedModels(server)).map(({ name }) => name);
}

async function generate({ url }: TestServer, body: object): Promise<number> {
  const options = { num_predict: 2, temperature: 0 };
  const response = await fetch(`${url}/api/generate`, {
    method: "POST",
    body: JSON.stringify({ prompt: "Hello", stream: false, options, ...body }),
  });
  await response.text();
  return response.status;
}

/** A memory budget with room for one model but not for two. */
async function budgetForOne(): Promise<number> {
  await using server = await startTestServer({ models: { first: tiny } });
  expect(await generate(server, { model: "first" })).toBe(200);
  const [loaded] = server.scheduler.running();
  return Math.ceil((loaded?.memoryBytes ?? 0) * 1.5);
}

function openFiles(): number {
  return readdirSync("/proc/self/fd").length;
}

test("two alternating models with a memory budget for one evict each other and leave nothing behind", {
  timeout: 1_800_000,
}, async () => {
  const memoryBudgetBytes = await budgetForOne();
  await using server = await startTestServer({
    // Another template makes it another load, although the weights are the same.
    models: { first: tiny, second: { ...tiny, extras: { template: "{{ .Prompt }}" } } },
    limits: { memoryBudgetBytes },
  });
  const leftovers: string[] = [];
  const workers = new Set<number>();
  let filesBefore = 0;
  let bytesBefore = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (const model of ["first", "second"]) {
      expect(await generate(server, { model })).toBe(200);
      if ((await namesLoaded(server)).join() !== `${model}:latest`) leftovers.push(`${model} in ${round}`);
      workers.add(workerProcesses()[0] ?? 0);
      if (workerProcesses().length !== 1) leftovers.push(`${workerProcesses().length} workers in ${round}`);
    }
    if (round === 1) [filesBefore, bytesBefore] = [openFiles(), process.memoryUsage().rss];
  }
  const growth = (process.memoryUsage().rss - bytesBefore) / 1024 ** 2;
  expect(leftovers).toEqual([]);
  expect(workers.size).toBe(rounds * 2);
  // The client's connection pool opens and closes a connection or two.
  expect(openFiles() - filesBefore).toBeLessThanOrEqual(4);
  expect(growth).toBeLessThan(maxGrowthMegabytes);
  recordFigure({
    claim: "families 13",
    text: `${rounds} rounds of two models under a budget for one: one worker at any time, ${openFiles() - filesBefore} more open files, ${growth.toFixed(1)} MB more memory (at most ${maxGrowthMegabytes})`,
    counted: { reached: rounds, needed: rounds },
  });
});

test("a model is unloaded at once with keep_alive 0, after five seconds with 5s, and never with -1", async () => {
  await using server = await startTestServer({ models: { first: tiny } });
  expect(await generate(server, { model: "first", keep_alive: 0 })).toBe(200);
  await expect.poll(() => namesLoaded(server), { timeout: 2000 }).toEqual([]);
  await expect.poll(() => workerProcesses(), { timeout: 2000 }).toEqual([]);

  expect(await generate(server, { model: "first", keep_alive: "5s" })).toBe(200);
  await sleep(4000);
  expect(await namesLoaded(server)).toEqual(["first:latest"]);
  await expect.poll(() => namesLoaded(server), { timeout: 4000 }).toEqual([]);

  expect(await generate(server, { model: "first", keep_alive: -1 })).toBe(200);
  const [loaded] = await loadedModels(server);
  expect(Date.parse(loaded?.expires_at ?? "") - Date.now()).toBeGreaterThan(1e9);
  await sleep(6000);
  expect(await namesLoaded(server)).toEqual(["first:latest"]);
});

test("two clients with different num_ctx share one loaded model if the smaller one comes second", async () => {
  await using server = await startTestServer({ models: { smol } });
  expect(await generate(server, { model: "smol", options: { num_ctx: 1024, num_predict: 1 } })).toBe(200);
  const before = workerProcesses();
  for (let turn = 0; turn < 4; turn += 1) {
    const options = { num_ctx: turn % 2 === 0 ? 512 : 1024, num_predict: 1 };
    expect(await generate(server, { model: "smol", options })).toBe(200);
  }
  expect(workerProcesses()).toEqual(before);
  expect(before).toHaveLength(1);
  // A larger context does reload the model.
  expect(await generate(server, { model: "smol", options: { num_ctx: 2048, num_predict: 1 } })).toBe(200);
  expect(workerProcesses()).not.toEqual(before);
  recordFigure({
    claim: "families 13",
    text: "0 reloads in 4 requests with the same or a smaller context, 1 for a larger one",
    counted: { reached: 4, needed: 4 },
  });
});

test("a model that is deleted while loaded is unloaded and no longer found", async () => {
  await using server = await startTestServer({ models: { first: tiny, second: smol } });
  expect(await generate(server, { model: "first" })).toBe(200);
  expect(await generate(server, { model: "second" })).toBe(200);
  expect((await namesLoaded(server)).toSorted()).toEqual(["first:latest", "second:latest"]);
  const body = JSON.stringify({ model: "first" });
  expect((await fetch(`${server.url}/api/delete`, { method: "DELETE", body })).status).toBe(200);
  expect(await namesLoaded(server)).toEqual(["second:latest"]);
  await expect.poll(() => workerProcesses().length).toBe(1);
  expect(await generate(server, { model: "first" })).toBe(404);
  expect(await generate(server, { model: "second" })).toBe(200);
});
