import { Agent, request } from "node:http";
import { connect } from "node:net";
import { setPriority } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Attack, AttackPlan, AttackRequest } from "./tenants.ts";

/**
 * A hostile client: runs attacks until standard input ends, and then prints how many responses each got, by status, as
 * one line of JSON. It prints a line when it starts. The plan is the first line of standard input.
 */

// An attacker's machine is another one: the client yields to the server and to the client that is measured.
setPriority(19);
const stopping = new AbortController();
const lines = createInterface({ input: process.stdin });
lines.once("close", () => stopping.abort());
const plan = await new Promise<AttackPlan>((resolve) => {
  // Written by the parent process.
  lines.once("line", (line) => resolve(JSON.parse(line) as AttackPlan));
});

type Counts = Record<string, number>;

function headersFor({ authorization, body }: AttackRequest): Record<string, string> {
  return {
    ...(authorization === undefined ? {} : { authorization }),
    ...(body === undefined
      ? {}
      : { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) }),
  };
}

function send(sent: AttackRequest, agent: Agent): Promise<string> {
  const { method, path, body = "" } = sent;
  return new Promise((resolve) => {
    const options = { host: "127.0.0.1", port: plan.port, method, path, headers: headersFor(sent), agent };
    request(options, (response) => {
      response.resume().on("close", () => resolve(String(response.statusCode)));
    })
      .on("error", () => resolve("error"))
      .end(body);
  });
}

/** Sends a request and reads only the beginning of the response, until the attack ends or the server gives up. */
function ignoreResponse(sent: AttackRequest): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port: plan.port });
    const head = Object.entries(headersFor(sent)).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`${sent.method} ${sent.path} HTTP/1.1\r\nhost: keep\r\n${head.join("")}\r\n`);
    stopping.signal.addEventListener("abort", () => socket.destroy());
    socket.once("readable", () => resolve("unread"));
    socket.on("error", () => undefined).on("close", () => resolve("closed"));
  });
}

/** Ends early when the attack does. */
async function pause(milliseconds: number): Promise<void> {
  await sleep(milliseconds, undefined, { signal: stopping.signal }).catch(() => undefined);
}

async function run({ connections, busyShare, requests, readsResponses }: Attack): Promise<Counts> {
  const agent = new Agent({ keepAlive: true });
  const counts: Counts = {};
  let sent = 0;
  const runConnection = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      const next = requests[sent % requests.length];
      if (next === undefined) return;
      sent += 1;
      const status = await (readsResponses ? send(next, agent) : ignoreResponse(next));
      counts[status] = (counts[status] ?? 0) + 1;
      await pause((performance.now() - startedAt) * (1 / busyShare - 1));
    }
  };
  await Promise.all(Array.from({ length: connections }, runConnection));
  agent.destroy();
  return counts;
}

process.stdout.write("attacking\n");
const counts = await Promise.all(
  plan.attacks.map(async (attack) => [attack.name, await run(attack)] as const),
);
process.stdout.write(`${JSON.stringify(Object.fromEntries(counts))}\n`);
