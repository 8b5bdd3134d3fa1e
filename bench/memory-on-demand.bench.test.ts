import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { descendantsOf, readProcessFile } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { smol, startTestServer, type TestServer } from "../apps/hearth/src/test/start-test-server.ts";
import { workerProcesses } from "./worker-processes.ts";

const claim = "lean 7";
/** A model of ninety megabytes and a Node.js process have more. */
const oneLoadMegabytes = 150;
const sequences = 4;
/** Keys and values of SmolLM2. */
const bytesPerToken = 23_040;
const contextTokens = 2048;
const prompt = "Write one sentence about the sea.";

/** The first two differ in what their requests contain, the last in how the model's process renders them. */
const models = {
  base: smol,
  pirate: { ...smol, extras: { system: "You are a pirate.", parameters: { temperature: 0 } } },
  templated: { ...smol, extras: { template: "{{ .Prompt }}" } },
};

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ models, limits: { contextTokens, sequences } });
}, 60_000);
afterAll(() => server[Symbol.asyncDispose]());

async function post(path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(body) });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return JSON.parse(text);
}

function chat(model: string, options: object = {}) {
  return post("/api/chat", {
    model,
    messages: [{ role: "user", content: prompt }],
    stream: false,
    options: { num_predict: 8, seed: 1, temperature: 0, ...options },
  });
}

/** A prompt that fills most of the context, because what is not used takes no memory. */
function fill(model: string, tokens: number) {
  return post("/api/generate", {
    model,
    prompt: "word and ".repeat(tokens * 0.4),
    raw: true,
    stream: false,
    options: { num_predict: 8, seed: 1, temperature: 0, num_ctx: tokens },
  });
}

function unload(model: string) {
  return post("/api/chat", { model, messages: [], keep_alive: 0 });
}

type ListedModel = { readonly name: string; readonly shares_memory_with?: readonly string[] } & Readonly<
  Record<"size_weights" | "size_cache" | "size_peak", number>
>;

async function listRunning(): Promise<readonly ListedModel[]> {
  const response = await fetch(`${server.url}/api/ps`);
  // The shape of ps.
  const { models: running } = (await response.json()) as { readonly models: readonly ListedModel[] };
  return running;
}

/** The sum over all processes of the loaded models. */
function measureMegabytes(field: "VmRSS" | "VmHWM"): number {
  const sizes = descendantsOf(process.pid).map((pid) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "mu").exec(readProcessFile(pid, "status"))?.[1] ?? 0),
  );
  return sizes.reduce((sum, kibibytes) => sum + kibibytes, 0) / 1000;
}

async function unloadAll(names: readonly string[]): Promise<void> {
  for (const name of names) await unload(name);
  await expect.poll(() => workerProcesses().length, { timeout: 10_000 }).toBe(0);
}

/** The measured peak that ps reports arrives with the next heartbeat of the model's process. */
async function expectReportedPeak(megabytes: number): Promise<void> {
  const reported = async (): Promise<number> => ((await listRunning())[0]?.size_peak ?? 0) / 1e6 / megabytes;
  await expect.poll(reported, { timeout: 5000 }).toBeGreaterThan(0.95);
  expect(await reported()).toBeLessThan(1.05);
}

test("a smaller num_ctx takes less memory", { timeout: 120_000 }, async () => {
  const sizes = chooseSize({ ci: [512, 2048], show: [512, 2048, 8192], nightly: [512, 2048, 4096, 8192] });
  const measured: number[] = [];
  for (const tokens of sizes) {
    await fill("base", tokens);
    const megabytes = measureMegabytes("VmHWM");
    const [{ size_weights: weights, size_cache: cache } = { size_weights: 0, size_cache: 0 }] =
      await listRunning();
    expect(weights).toBeGreaterThan(90_000_000);
    expect(cache).toBe(bytesPerToken * tokens * sequences);
    await expectReportedPeak(megabytes);
    expect(megabytes).toBeGreaterThan(measured.at(-1) ?? 0);
    measured.push(megabytes);
    await unloadAll(["base"]);
  }
  const texts = sizes.map((tokens, index) => `${measured[index]?.toFixed(0)} MB with ${tokens} tokens`);
  recordFigure({
    claim,
    text: `peak by num_ctx, with one of ${sequences} sequences filled: ${texts.join(", ")}`,
  });
});

test("models derived from one share its load, and another template does not", {
  timeout: 120_000,
}, async () => {
  const base = await chat("base");
  const [pid] = workerProcesses();
  const one = measureMegabytes("VmRSS");
  const pirate = await chat("pirate");
  const two = measureMegabytes("VmRSS");
  expect(workerProcesses()).toEqual([pid]);
  expect(pirate["message"]).not.toEqual(base["message"]);
  expect(two - one).toBeLessThan(oneLoadMegabytes);
  const shared = await listRunning();
  expect(shared.map(({ name, shares_memory_with: others }) => [name, others])).toEqual([
    ["pirate:latest", ["base:latest"]],
    ["base:latest", ["pirate:latest"]],
  ]);
  await chat("templated");
  const three = measureMegabytes("VmRSS");
  expect(workerProcesses()).toHaveLength(2);
  expect(three - two).toBeGreaterThan(oneLoadMegabytes);
  await unload("base");
  await unload("templated");
  await expect.poll(workerProcesses, { timeout: 10_000 }).toEqual([pid]);
  expect((await listRunning()).map(({ name }) => name)).toEqual(["pirate:latest"]);
  await unloadAll(["pirate"]);
  recordFigure({
    claim,
    text: `${one.toFixed(0)} MB with one model, ${two.toFixed(0)} MB with a second derived from it in 1 process, ${three.toFixed(0)} MB with a third that has another template`,
  });
});

function cosine(one: readonly number[], other: readonly number[]): number {
  const product = one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
  return product / Math.hypot(...one) / Math.hypot(...other);
}

const texts = ["A cat sat on a mat.", "word and ".repeat(260)];

async function embed(model: string): Promise<readonly (readonly number[])[]> {
  const { embeddings } = await post("/api/embed", { model, input: texts });
  // The shape of embed.
  return embeddings as readonly (readonly number[])[];
}

test("a chat model embeds without being loaded again, with the vectors of a load of its own", {
  timeout: 120_000,
}, async () => {
  await chat("base");
  const chatting = workerProcesses();
  const before = measureMegabytes("VmRSS");
  const beside = await embed("base");
  const after = measureMegabytes("VmRSS");
  expect(workerProcesses()).toEqual(chatting);
  // Not loaded to chat, so it gets a load of its own.
  const alone = await embed("templated");
  const separate = measureMegabytes("VmRSS") - after;
  expect(workerProcesses()).toHaveLength(2);
  const similarity = Math.min(...alone.map((vector, index) => cosine(vector, beside[index] ?? [])));
  expect(similarity).toBeGreaterThan(0.9999);
  expect(after - before).toBeLessThan(separate);
  await unloadAll(["base", "templated"]);
  recordFigure({
    claim,
    text: `${before.toFixed(0)} MB with a chat, ${(after - before).toFixed(0)} MB more for embeddings in 1 process, where a load of its own takes ${separate.toFixed(0)} MB; least cosine of ${texts.length} vectors ${similarity.toFixed(6)}`,
  });
});
