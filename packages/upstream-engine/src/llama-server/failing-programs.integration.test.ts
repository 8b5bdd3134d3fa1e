import type { Engine, EngineRequest } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { forEver, playProgram } from "./test/fake-program.ts";

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

test("a program that takes the question for its health and never answers is asked again", async () => {
  await using program = await playProgram({ "/health": { silent: 1, refused: 1 } });
  await using engine = await program.load(AbortSignal.timeout(20_000));
  expect(engine.describe().contextTokens).toBe(128);
});

test("a load that is called off while the program says nothing of itself ends at once", async () => {
  await using program = await playProgram({ "/props": { silent: forEver } });
  const hangUp = new AbortController();
  setTimeout(() => hangUp.abort(new Error("called off")), 1500);
  await expect(program.load(hangUp.signal)).rejects.toThrow("called off");
});

test("a slot whose state was refused once is lent again", async () => {
  // The first time it is asked while it is loaded.
  await using program = await playProgram({ "/slots": { well: 1, refused: 1 } });
  await using engine = await program.load(never);
  for await (const event of engine.generate(request, never)) if (event.type === "prompt-progress") break;
  expect(await finish(engine, AbortSignal.timeout(10_000))).toBe(0);
});

test("a caller is told of no more cached tokens than were read for that caller, whatever the engine says", async () => {
  await using program = await playProgram({});
  await using engine = await program.load(never);
  expect(await finish(engine)).toBe(0);
  expect(await finish(engine)).toBeGreaterThan(0);
});

test("an engine whose loop hangs is found out though its other threads go on answering", async () => {
  await using program = await playProgram({
    "/completion": { silent: forEver },
    "/slots": { well: 1, silent: forEver },
  });
  await using engine = await program.load(never);
  const asking = setInterval(() => void engine.tokenize("still there").catch(() => undefined), 500);
  try {
    await expect(finish(engine)).rejects.toMatchObject({ failure: { kind: "engine-hung" } });
  } finally {
    clearInterval(asking);
  }
}, 30_000);
