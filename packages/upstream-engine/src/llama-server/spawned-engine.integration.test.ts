import { existsSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";
import type { Conversation, Engine, EngineRequest, LoadPlan } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { inspectMachine } from "@hearth-and-keep/engine-host";
import { descendantsOf, preparePython, readProcessFile, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createLlamaServerDriver, type LlamaServerDriverOptions } from "./llama-server-driver.ts";

const never = new AbortController().signal;

async function load(
  changes: Partial<LoadPlan> = {},
  options: Partial<LlamaServerDriverOptions> = {},
): Promise<Engine> {
  const { interpreter } = await preparePython();
  const driver = createLlamaServerDriver({ program: { kind: "xllamacpp", interpreter }, ...options });
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

function runningEngines(): readonly number[] {
  return descendantsOf(process.pid).filter((pid) => readProcessFile(pid, "cmdline").includes("launch.py"));
}

/** The private folders in an engine's command line; other tests have their own engines. */
function foldersIn(commandLine: string): readonly string[] {
  return [...new Set(commandLine.match(/\/[^\0]*?\/hearth-[A-Za-z0-9]{6}(?=\/)/gu))];
}

test("the engine gets neither our environment nor the key as an argument, and leaves no files behind", async () => {
  await using engine = await load();
  const running = runningEngines();
  expect(running.length).toBeGreaterThan(0);
  const commandLine = running.map((pid) => readProcessFile(pid, "cmdline")).join("\0");
  expect(commandLine).not.toMatch(/[0-9a-f]{64}/u);
  const folders = foldersIn(commandLine);
  expect(folders.filter((folder) => existsSync(folder))).toHaveLength(1);
  const environment = running.map((pid) => readProcessFile(pid, "environ")).join("\0");
  expect(environment).not.toContain("PATH=");
  expect(environment).toContain("PYTHONUTF8=1");
  await engine.unload();
  expect(runningEngines()).toEqual([]);
  expect(folders.filter((folder) => existsSync(folder))).toEqual([]);
});

test("the engine also runs without the sandbox", async () => {
  const machine = { ...inspectMachine(), isRoot: false, bubblewrap: undefined, prlimit: undefined };
  await using engine = await load({}, { machine });
  expect(await write(engine)).not.toBe("");
});

test("typical_p is applied, which the binding does not support", async () => {
  await using engine = await load();
  const sampled = { ...greedySampling, temperature: 1.5, seed: 5 };
  const unrestricted = await write(engine, { sampling: { ...sampled, typicalP: 1 } });
  expect(await write(engine, { sampling: { ...sampled, typicalP: 1 } })).toBe(unrestricted);
  expect(await write(engine, { sampling: { ...sampled, typicalP: 0.05 } })).not.toBe(unrestricted);
});

/** One chunk of a PNG file: length, type, content and checksum. */
function pngChunk(type: string, content: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type), content]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  checksum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, checksum]);
}

/** A black square of 28 by 28 pixels. */
function drawSquare(): Buffer {
  const side = 28;
  const header = Buffer.from([0, 0, 0, side, 0, 0, 0, side, 8, 2, 0, 0, 0]);
  const rows = deflateSync(Buffer.alloc(side * (1 + 3 * side)));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const chunks = [pngChunk("IHDR", header), pngChunk("IDAT", rows), pngChunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([signature, ...chunks]);
}

test("a model with a projector accepts images, and text that looks like its marker stays text", async () => {
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
  const withoutImage = await tokensOf("Look", []);
  const one = await tokensOf("Look", [image]);
  const two = await tokensOf("Look", [image, image]);
  expect(one - withoutImage).toBeGreaterThanOrEqual(16);
  expect(two - one).toBe(one - withoutImage);
  expect(await tokensOf("Look <__image__> <__media__>", [image])).toBeGreaterThan(one);
  const broken = { ...image, bytes: image.bytes.subarray(0, 50) };
  await expect(tokensOf("Look", [broken])).rejects.toMatchObject({ failure: { kind: "image-unreadable" } });
  expect(await tokensOf("Look", [image])).toBe(one);
});

/** A second of silence at 16 kHz. */
function makeSilence(): Uint8Array {
  const bytes = Buffer.alloc(44 + 32_000);
  bytes.write("RIFF\0\0\0\0WAVEfmt \u0010\0\0\0\u0001\0\u0001\0", "latin1");
  bytes.writeUInt32LE(16_000, 24);
  bytes.writeUInt32LE(32_000, 28);
  bytes.writeUInt16LE(2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write("data", 36, "latin1");
  bytes.writeUInt32LE(32_000, 40);
  return new Uint8Array(bytes);
}

function conversationWith(media: object): Conversation {
  return { messages: [{ role: "user", content: "Listen", ...media }] };
}

test("a model with an audio projector accepts sounds and no images, and damaged sounds do not stop it", async () => {
  await using engine = await load({ projectorPath: await testModel("tiny-audio-projector.gguf") });
  expect(engine.describe()).toMatchObject({ canSeeImages: false, canHearAudio: true });
  const clip = { bytes: makeSilence(), mediaType: "audio/wav", seconds: 1 } as const;
  const run = async (media: object): Promise<void> => {
    const input = { type: "conversation", conversation: conversationWith(media) } as const;
    await write(engine, { input, maxTokens: 4 });
  };
  const silent = await engine.count(conversationWith({}));
  expect((await engine.count(conversationWith({ audio: [clip, clip] }))) - silent).toBe(100);
  await run({ audio: [clip] });
  const image = { bytes: new Uint8Array(drawSquare()), mediaType: "image/png" };
  await expect(run({ images: [image] })).rejects.toMatchObject({
    failure: { kind: "not-supported", feature: "images" },
  });
  const broken = { ...clip, bytes: clip.bytes.subarray(0, 20) };
  await expect(run({ audio: [broken] })).rejects.toMatchObject({ failure: { kind: "audio-unreadable" } });
  await run({ audio: [clip] });
});

/** How many tokens of a prompt are reported to a client as cached. */
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

test("a client whose request never started learns nothing about another client's prompt", async () => {
  await using engine = await load();
  await cachedFor(engine, "alice");
  expect(await cachedFor(engine, "alice")).toBeGreaterThan(4);
  // The progress event precedes the request to the engine, so leaving at this point sends nothing.
  for await (const event of engine.generate(secretRequest("bob"), never)) {
    if (event.type === "prompt-progress") break;
  }
  expect(await cachedFor(engine, "bob")).toBe(0);
  const controller = new AbortController();
  const events = engine.generate(secretRequest("carol"), controller.signal)[Symbol.asyncIterator]();
  await events.next();
  const pending = events.next();
  controller.abort(new Error("disconnected"));
  await expect(pending).rejects.toThrow("disconnected");
  expect(await cachedFor(engine, "carol")).toBe(0);
  expect(await cachedFor(engine, "carol")).toBeGreaterThan(4);
});
