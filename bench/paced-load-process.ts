import { Agent, request } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { PacedLoad, PacedPlan } from "./tenants.ts";

/**
 * A client with a steady, modest rate: sends each request at its time, whether or not earlier ones were answered, and
 * checks /readyz ten times a second. Prints the result as one line of JSON. The plan is read from standard input.
 */

// Written by the parent process.
const plan = (await json(process.stdin)) as PacedPlan;
const agent = new Agent({ keepAlive: true });
const milliseconds: number[] = [];
const statuses: Record<string, number> = {};
let notReady = 0;

type SentRequest = { readonly method: string; readonly path: string; readonly body?: string };

function send({ method, path, body = "" }: SentRequest): Promise<number> {
  const headers = {
    authorization: plan.authorization,
    ...(body === "" ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
  };
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port: plan.port, method, path, headers, agent }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    })
      .on("error", reject)
      .end(body);
  });
}

async function measure(sent: SentRequest): Promise<void> {
  const startedAt = performance.now();
  const status = await send(sent);
  milliseconds.push(performance.now() - startedAt);
  statuses[status] = (statuses[status] ?? 0) + 1;
}

async function watchReadiness(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if ((await send({ method: "GET", path: "/readyz" })) !== 200) notReady += 1;
    await sleep(100);
  }
}

const watching = new AbortController();
const watched = watchReadiness(watching.signal);
const running: Promise<void>[] = [];
const startedAt = performance.now();
// Elsewhere in the list each time, so that all its secrets are written equally often.
const first = Math.floor(Math.random() * plan.requests.length);
for (let count = 0; count < plan.seconds * plan.perSecond; count += 1) {
  await sleep(Math.max(0, startedAt + (count * 1000) / plan.perSecond - performance.now()));
  const next = plan.requests[(first + count) % plan.requests.length];
  if (next !== undefined) running.push(measure(next));
}
await Promise.all(running);
watching.abort();
await watched;
agent.destroy();
const sorted = milliseconds.toSorted((one, other) => one - other);
const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
const result: PacedLoad = { statuses, notReady, p50: at(0.5), p99: at(0.99) };
process.stdout.write(`${JSON.stringify(result)}\n`);
