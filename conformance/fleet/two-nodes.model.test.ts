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
/** In seconds, with a node that leaves and comes back in the middle. */
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
  for (const port of ports) await untilItAnswers(port);
  await sleep(phase * 1000);
  const before = load.outcomes.length;
  const stopping = first.stop();
  const afterwards = await countWhileDraining(ports[0]);
  await stopping;
  const during = load.outcomes.length;
  await sleep((phase / 2) * 1000);
  stack.use(await startNode(ports[0], folder.path));
  await untilItAnswers(ports[0]);
  await sleep(phase * 500);
  await load.stop();
  const failed = load.outcomes.filter(({ problem }) => problem !== undefined);
  expect(failed).toEqual([]);
  // HAProxy had seen that the node was not ready, and sent what came to the other one.
  expect(afterwards).toBeLessThanOrEqual(2);
  expect(Math.min(before, during - before)).toBeGreaterThan(0);
  const all = load.outcomes.length;
  recordFigure({
    claim: "engines 8",
    text: `${all - failed.length} of ${all} requests of ${clients} clients were answered, ${during - before} of them while one of two nodes drained`,
    counted: { reached: all - failed.length, needed: all },
  });
});

/** A node as an operator starts it: it takes requests for two seconds after it was asked to end. */
async function startNode(port: number, models: string): Promise<OwnedProcess> {
  return startProcess({
    command: process.execPath,
    arguments: [program, "serve", `--port=${port}`, `--models=${models}`, "--threads=1", "--drain-seconds=2"],
    isReady: (output) => output.includes("Hearth is listening on"),
  });
}

/** A node has its model to load first, on a machine that may have much to do. */
async function untilItAnswers(port: number): Promise<void> {
  await expect.poll(() => answersOf(port), { timeout: 30_000, interval: 200 }).toBeGreaterThan(0);
}

/** How many answers end on a node between one and nearly two seconds after it was asked to end. */
async function countWhileDraining(port: number): Promise<number> {
  await sleep(1000);
  const before = await answersOf(port);
  await sleep(700);
  return (await answersOf(port)) - before;
}

async function answersOf(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const answered = /^hearth_requests_total\{route="POST \/v1\/chat\/completions",status="200"\} (\d+)$/mu;
  return Number(answered.exec(text)?.[1] ?? 0);
}
