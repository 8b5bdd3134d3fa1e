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
import { createScriptedDriver } from "./test/fake-driver.ts";
import { never, wishFor } from "./test/fixture.ts";

/** An engine that answers when it is told to. */
async function holdAnswers({ isWell = true } = {}) {
  const held: ServerResponse[] = [];
  const server = createServer(({ url }, response) => {
    if (url === "/health") response.writeHead(engine.isWell ? 200 : 500).end("{}");
    else if (url === "/v1/models") response.end('{"data":[{"id":"m"}]}');
    else held.push(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has such an address.
  const { port } = server.address() as AddressInfo;
  const engine = {
    isWell,
    port,
    held,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
  return engine;
}

const answer = `data: ${JSON.stringify({ choices: [{ delta: { content: "Hi" }, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`;

/** A scheduler with one model, which runs on engines that take three requests each. */
async function setStage(engines: RemoteModel["plan"]["engines"]) {
  // Of the model only its name and plan are looked at here.
  const model = {
    name: "found",
    plan: { dialect: "vllm", engines, requestsPerEngine: 3, canSeeImages: false },
  } as unknown as RemoteModel;
  const remote = openRemoteEngines([model]);
  const driver = remote.beside(createScriptedDriver().driver);
  const scheduler = createScheduler({ driver, limits: { waitingLine: 2 } });
  const wish = wishFor("found", { remote: "found", sequences: 1 });
  await scheduler.preload(wish, never);
  const ask = async (): Promise<readonly EngineEvent[]> => {
    using lease = await scheduler.lend(wish, never);
    const input = { type: "raw", prompt: "Hi" } as const;
    const request = { input, sampling: greedySampling, mostTokens: 1, cachePartition: "" };
    return await Array.fromAsync(lease.engine.generate(request, never));
  };
  return {
    scheduler,
    ask,
    async [Symbol.asyncDispose]() {
      await scheduler.close(0);
      await remote[Symbol.asyncDispose]();
    },
  };
}

test("a pool whose engines are found has as many places as they have, and the line behind them is bounded", async () => {
  using engine = await holdAnswers();
  const address = new URL(`http://localhost:${engine.port}`);
  await using stage = await setStage({ type: "dns", address });
  const { ask, scheduler } = stage;
  expect(scheduler.running()).toMatchObject([{ sequences: 3 }]);
  const answers = [1, 2, 3, 4, 5].map(() => ask());
  while (engine.held.length < 3) await sleep(5);
  await expect(ask()).rejects.toMatchObject({ failure: { kind: "queue-full", waiting: 2 } });
  for (let answered = 0; answered < 5; answered += 1) {
    while (engine.held.length === 0) await sleep(5);
    engine.held.shift()?.end(answer);
  }
  for (const events of await Promise.all(answers)) expect(events.at(-1)?.type).toBe("generation-end");
});

test("who waits in line is served when an engine comes, although none of those before it has ended", async () => {
  using first = await holdAnswers();
  using second = await holdAnswers({ isWell: false });
  const addresses = [first, second].map(({ port }) => new URL(`http://127.0.0.1:${port}`));
  await using stage = await setStage({ type: "addresses", addresses });
  const answers = [1, 2, 3, 4].map(() => stage.ask());
  while (first.held.length < 3) await sleep(5);
  expect(stage.scheduler.queueLengths()).toMatchObject([{ leases: 3, waiting: 1 }]);
  second.isWell = true;
  while (second.held.length < 1) await sleep(5);
  expect(stage.scheduler.running()).toMatchObject([{ leases: 4, sequences: 6 }]);
  for (const response of [...first.held, ...second.held]) response.end(answer);
  expect(await Promise.all(answers)).toHaveLength(4);
});
