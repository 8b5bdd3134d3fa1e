import type { Engine, EngineRequest } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { forever, startFakeProgram } from "./test/fake-program.ts";

const never = new AbortController().signal;
const request: EngineRequest = {
  input: { type: "raw", prompt: "Hello" },
  sampling: greedySampling,
  maxTokens: 1,
  cachePartition: "one",
};

async function finish(engine: Engine, signal = never): Promise<number> {
  let cached = Number.NaN;
  for await (const event of engine.generate(request, signal)) {
    if (event.type === "generation-end") cached = event.usage.cachedTokens;
  }
  return cached;
}

test("a health check without a response is retried", async () => {
  await using program = await startFakeProgram({ "/health": { silent: 1, failing: 1 } });
  await using engine = await program.load(AbortSignal.timeout(20_000));
  expect(engine.describe().contextTokens).toBe(128);
});

test("a load that is aborted while the program does not respond ends immediately", async () => {
  await using program = await startFakeProgram({ "/props": { silent: forever } });
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("cancelled")), 1500);
  await expect(program.load(controller.signal)).rejects.toThrow("cancelled");
});

test("a slot whose state could not be read once is still reused", async () => {
  // The first request is part of the load.
  await using program = await startFakeProgram({ "/slots": { ok: 1, failing: 1 } });
  await using engine = await program.load(never);
  for await (const event of engine.generate(request, never)) if (event.type === "prompt-progress") break;
  expect(await finish(engine, AbortSignal.timeout(10_000))).toBe(0);
});

test("no more cached tokens are reported than were evaluated for the same client, whatever the engine says", async () => {
  await using program = await startFakeProgram({});
  await using engine = await program.load(never);
  expect(await finish(engine)).toBe(0);
  expect(await finish(engine)).toBeGreaterThan(0);
});

test("an engine whose compute loop hangs is detected although its other threads still respond", async () => {
  await using program = await startFakeProgram({
    "/completion": { silent: forever },
    "/slots": { ok: 1, silent: forever },
  });
  await using engine = await program.load(never);
  const polling = setInterval(() => void engine.tokenize("still there").catch(() => undefined), 500);
  try {
    await expect(finish(engine)).rejects.toMatchObject({ failure: { kind: "engine-hung" } });
  } finally {
    clearInterval(polling);
  }
}, 30_000);
