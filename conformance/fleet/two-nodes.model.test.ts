import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { recordFigure, scale } from "@hearth-and-keep/figures";
import {
  findFreePort,
  makeTemporaryFolder,
  type OwnedProcess,
  startProcess,
  testModel,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createFromFile } from "../../apps/hearth/src/models/create-from-file.ts";
import { openModelStore } from "../../apps/hearth/src/models/store/model-store.ts";
import { startClientLoad } from "./client-load.ts";
import { startBalancer } from "./haproxy.ts";

const program = resolve(import.meta.dirname, "../../apps/hearth/src/main.ts");
const clients = 8;
/** In seconds; a node is stopped and restarted between the phases. */
const phase = scale === "nightly" ? 15 : 3;

test("two nodes behind HAProxy behave as one while one is drained and restarted under load", {
  timeout: 180_000,
}, async () => {
  await using folder = await makeTemporaryFolder("two-nodes");
  const store = await openModelStore(folder.path, "own");
  await createFromFile([store], { name: "tiny", file: await testModel("tiny-llama.gguf") });
  const ports = [await findFreePort(), await findFreePort()] as const;
  await using first = await startNode(ports[0], folder.path);
  const nodes = ports.map((port) => ({ url: `http://127.0.0.1:${port}` }));
  await using stack = new AsyncDisposableStack();
  stack.use(await startNode(ports[1], folder.path));
  const { url, process: balancer } = await startBalancer(nodes, folder);
  stack.use(balancer);
  const load = startClientLoad({ url, model: "tiny", clients, pauseMilliseconds: 50, maxTokens: 24 });
  for (const port of ports) await untilItResponds(port);
  await sleep(phase * 1000);
  const before = load.outcomes.length;
  const stopping = first.stop();
  const whileDraining = await countWhileDraining(ports[0]);
  await stopping;
  const during = load.outcomes.length;
  await sleep((phase / 2) * 1000);
  stack.use(await startNode(ports[0], folder.path));
  await untilItResponds(ports[0]);
  await sleep(phase * 500);
  await load.stop();
  const failed = load.outcomes.filter(({ error }) => error !== undefined);
  expect(failed).toEqual([]);
  // HAProxy had noticed that the node was not ready, and sent new requests to the other one.
  expect(whileDraining).toBeLessThanOrEqual(2);
  expect(Math.min(before, during - before)).toBeGreaterThan(0);
  const all = load.outcomes.length;
  recordFigure({
    claim: "engines 8",
    text: `${all - failed.length} of ${all} requests of ${clients} clients succeeded, ${during - before} of them while one of two nodes drained`,
    counted: { reached: all - failed.length, needed: all },
  });
});

/** Starts a node that still accepts requests for two seconds after SIGTERM. */
async function startNode(port: number, models: string): Promise<OwnedProcess> {
  return startProcess({
    command: process.execPath,
    arguments: [program, "serve", `--port=${port}`, `--models=${models}`, "--threads=1", "--drain-seconds=2"],
    isReady: (output) => output.includes("Hearth is listening on"),
  });
}

/** Loading the model may take a while on a busy machine. */
async function untilItResponds(port: number): Promise<void> {
  await expect.poll(() => completedRequests(port), { timeout: 30_000, interval: 200 }).toBeGreaterThan(0);
}

/** The number of requests that a node finishes between one and nearly two seconds after SIGTERM. */
async function countWhileDraining(port: number): Promise<number> {
  await sleep(1000);
  const before = await completedRequests(port);
  await sleep(700);
  return (await completedRequests(port)) - before;
}

async function completedRequests(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const metric = /^hearth_requests_total\{route="POST \/v1\/chat\/completions",status="200"\} (\d+)$/mu;
  return Number(metric.exec(text)?.[1] ?? 0);
}
