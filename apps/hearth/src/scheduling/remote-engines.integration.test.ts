import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { EngineEvent } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import type { RemoteModel } from "../models/remote/engines-file.ts";
import { openRemoteEngines } from "./remote-engines.ts";
import { createScheduler } from "./scheduler.ts";
import { createFakeDriver } from "./test/fake-driver.ts";
import { loadRequest, never } from "./test/fixture.ts";

/** A fake engine that holds its responses until the test sends them. */
async function startFakeEngine({ isHealthy = true } = {}) {
  const held: ServerResponse[] = [];
  const server = createServer(({ url }, response) => {
    if (url === "/health") response.writeHead(engine.isHealthy ? 200 : 500).end("{}");
    else if (url === "/v1/models") response.end('{"data":[{"id":"m"}]}');
    else held.push(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a TCP port has an address of this type.
  const { port } = server.address() as AddressInfo;
  const engine = {
    isHealthy,
    port,
    held,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
  return engine;
}

const responseText = `data: ${JSON.stringify({ choices: [{ delta: { content: "Hi" }, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`;

/** A scheduler with one remote model, whose engines accept three requests each. */
async function createRemoteFixture(engines: RemoteModel["plan"]["engines"]) {
  // Only the name and the plan of the model are used here.
  const model = {
    name: "found",
    plan: { dialect: "vllm", engines, requestsPerEngine: 3, canSeeImages: false, canHearAudio: false },
  } as unknown as RemoteModel;
  const remote = openRemoteEngines([model]);
  const driver = remote.extendDriver(createFakeDriver().driver);
  const scheduler = createScheduler({ driver, limits: { maxQueuedPerModel: 2 } });
  const load = loadRequest("found", { remote: "found", sequences: 1 });
  await scheduler.preload(load, never);
  const generate = async (): Promise<readonly EngineEvent[]> => {
    using lease = await scheduler.acquire(load, never);
    const input = { type: "raw", prompt: "Hi" } as const;
    const request = { input, sampling: greedySampling, maxTokens: 1, cachePartition: "" };
    return await Array.fromAsync(lease.engine.generate(request, never));
  };
  return {
    scheduler,
    generate,
    async [Symbol.asyncDispose]() {
      await scheduler.close(0);
      await remote[Symbol.asyncDispose]();
    },
  };
}

test("a pool found by DNS has as many slots as its engines, and its queue is bounded", async () => {
  using engine = await startFakeEngine();
  const address = new URL(`http://localhost:${engine.port}`);
  await using fixture = await createRemoteFixture({ type: "dns", address });
  const { generate, scheduler } = fixture;
  expect(scheduler.running()).toMatchObject([{ sequences: 3 }]);
  const pending = [1, 2, 3, 4, 5].map(() => generate());
  while (engine.held.length < 3) await sleep(5);
  await expect(generate()).rejects.toMatchObject({ failure: { kind: "queue-full", waiting: 2 } });
  for (let sent = 0; sent < 5; sent += 1) {
    while (engine.held.length === 0) await sleep(5);
    engine.held.shift()?.end(responseText);
  }
  for (const events of await Promise.all(pending)) expect(events.at(-1)?.type).toBe("generation-end");
});

test("a queued request is served when another engine becomes healthy, while all earlier ones are still running", async () => {
  using first = await startFakeEngine();
  using second = await startFakeEngine({ isHealthy: false });
  const addresses = [first, second].map(({ port }) => new URL(`http://127.0.0.1:${port}`));
  await using fixture = await createRemoteFixture({ type: "addresses", addresses });
  const pending = [1, 2, 3, 4].map(() => fixture.generate());
  while (first.held.length < 3) await sleep(5);
  expect(fixture.scheduler.queueLengths()).toMatchObject([{ leases: 3, waiting: 1 }]);
  second.isHealthy = true;
  while (second.held.length < 1) await sleep(5);
  expect(fixture.scheduler.running()).toMatchObject([{ leases: 4, sequences: 6 }]);
  for (const response of [...first.held, ...second.held]) response.end(responseText);
  expect(await Promise.all(pending)).toHaveLength(4);
});
