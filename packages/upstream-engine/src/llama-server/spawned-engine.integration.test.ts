import { existsSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";
import type { Engine, EngineRequest, LoadPlan } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { inspectMachine } from "@hearth-and-keep/engine-host";
import { descendantsOf, preparePython, readProcessFile, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createLlamaServerDriver, type LlamaServerDriverOptions } from "./llama-server-driver.ts";

const never = new AbortController().signal;

async function load(
  changes: Partial<LoadPlan> = {},
  parts: Partial<LlamaServerDriverOptions> = {},
): Promise<Engine> {
  const { interpreter } = await preparePython();
  const driver = createLlamaServerDriver({ program: { kind: "xllamacpp", interpreter }, ...parts });
  const plan: LoadPlan = {
    modelPath: await testModel("tiny-llama.gguf"),
    contextTokens: 1024,
    sequences: 1,
    threads: 1,
    gpuLayers: 0,
    purpose: "generate",
    ...changes,
  };
  return driver.load(plan, { signal: never, onProgress: () => undefined });
}

async function write(engine: Engine, changes: Partial<EngineRequest> = {}): Promise<string> {
  const request: EngineRequest = {
    input: { type: "raw", prompt: "Once upon a time" },
    sampling: greedySampling,
    maxTokens: 24,
    cachePartition: "one",
    ...changes,
  };
  let text = "";
  for await (const event of engine.generate(request, never))
    if (event.type === "text-delta") text += event.text;
  return text;
}

function enginesRunning(): readonly number[] {
  return descendantsOf(process.pid).filter((pid) => readProcessFile(pid, "cmdline").includes("launch.py"));
}

/** Those that stand in an engine's words; other tests have engines of their own. */
function foldersNamedIn(words: string): readonly string[] {
  return [...new Set(words.match(/\/[^\0]*?\/hearth-[A-Za-z0-9]{6}(?=\/)/gu))];
}

test("it runs with nothing of our environment and no key in its words, and leaves nothing behind", async () => {
  await using engine = await load();
  const running = enginesRunning();
  expect(running.length).toBeGreaterThan(0);
  const words = running.map((pid) => readProcessFile(pid, "cmdline")).join("\0");
  expect(words).not.toMatch(/[0-9a-f]{64}/u);
  const folders = foldersNamedIn(words);
  expect(folders.filter((folder) => existsSync(folder))).toHaveLength(1);
  const inside = running.map((pid) => readProcessFile(pid, "environ")).join("\0");
  expect(inside).not.toContain("PATH=");
  expect(inside).toContain("PYTHONUTF8=1");
  await engine.unload();
  expect(enginesRunning()).toEqual([]);
  expect(folders.filter((folder) => existsSync(folder))).toEqual([]);
});

test("without the walls it runs all the same", async () => {
  const machine = { ...inspectMachine(), bubblewrap: undefined, setpriv: undefined, prlimit: undefined };
  await using engine = await load({}, { machine });
  expect(await write(engine)).not.toBe("");
});

test("the locally typical share of tokens is obeyed, which the binding cannot", async () => {
  await using engine = await load();
  const warm = { ...greedySampling, temperature: 1.5, seed: 5 };
  const free = await write(engine, { sampling: { ...warm, typicalP: 1 } });
  expect(await write(engine, { sampling: { ...warm, typicalP: 1 } })).toBe(free);
  expect(await write(engine, { sampling: { ...warm, typicalP: 0.05 } })).not.toBe(free);
});

/** One part of a PNG file: its length, name, content and sum. */
function pngPart(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), content]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** A black square of 28 by 28 dots. */
function drawSquare(): Buffer {
  const side = 28;
  const header = Buffer.from([0, 0, 0, side, 0, 0, 0, side, 8, 2, 0, 0, 0]);
  const rows = deflateSync(Buffer.alloc(side * (1 + 3 * side)));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [pngPart("IHDR", header), pngPart("IDAT", rows), pngPart("IEND", Buffer.alloc(0))];
  return Buffer.concat([signature, ...parts]);
}

test("a model with a projector sees images, and words that look like its marker stay words", async () => {
  await using engine = await load({ projectorPath: await testModel("tiny-projector.gguf") });
  expect(engine.describe().canSeeImages).toBe(true);
  const image = { bytes: new Uint8Array(drawSquare()), mediaType: "image/png" };
  const tokensOf = async (content: string, images: readonly (typeof image)[]): Promise<number> => {
    const input = {
      type: "conversation",
      conversation: { messages: [{ role: "user", content, images }] },
    } as const;
    const request = { input, sampling: greedySampling, maxTokens: 4, cachePartition: "one" };
    let tokens = 0;
    for await (const event of engine.generate(request, never)) {
      if (event.type === "generation-end") tokens = event.usage.promptTokens;
    }
    return tokens;
  };
  const blind = await tokensOf("Look", []);
  const one = await tokensOf("Look", [image]);
  const two = await tokensOf("Look", [image, image]);
  expect(one - blind).toBeGreaterThanOrEqual(16);
  expect(two - one).toBe(one - blind);
  expect(await tokensOf("Look <__image__> <__media__>", [image])).toBeGreaterThan(one);
  const broken = { ...image, bytes: image.bytes.subarray(0, 50) };
  await expect(tokensOf("Look", [broken])).rejects.toMatchObject({ failure: { kind: "image-unreadable" } });
  expect(await tokensOf("Look", [image])).toBe(one);
});

/** How many tokens of a prompt a caller is told to have been there already. */
async function cachedFor(engine: Engine, cachePartition: string): Promise<number> {
  let cached = Number.NaN;
  for await (const event of engine.generate(secretRequest(cachePartition), never)) {
    if (event.type === "generation-end") cached = event.usage.cachedTokens;
  }
  return cached;
}

function secretRequest(cachePartition: string): EngineRequest {
  const input = { type: "raw", prompt: "The word that opens the gate is 1234." } as const;
  return { input, sampling: greedySampling, maxTokens: 4, cachePartition };
}

test("a caller whose request never began is told nothing of what another caller asked", async () => {
  await using engine = await load();
  await cachedFor(engine, "alice");
  expect(await cachedFor(engine, "alice")).toBeGreaterThan(4);
  // The length of the prompt is told before anything is sent, and whoever leaves then has sent nothing.
  for await (const event of engine.generate(secretRequest("bob"), never)) {
    if (event.type === "prompt-progress") break;
  }
  expect(await cachedFor(engine, "bob")).toBe(0);
  const hangUp = new AbortController();
  const events = engine.generate(secretRequest("carol"), hangUp.signal)[Symbol.asyncIterator]();
  await events.next();
  const sent = events.next();
  hangUp.abort(new Error("gone"));
  await expect(sent).rejects.toThrow("gone");
  expect(await cachedFor(engine, "carol")).toBe(0);
  expect(await cachedFor(engine, "carol")).toBeGreaterThan(4);
});
