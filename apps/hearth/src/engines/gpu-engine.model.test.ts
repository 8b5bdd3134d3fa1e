import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { createLlamaDriver } from "@hearth-and-keep/llama-engine";
import {
  descendantsOf,
  makeTemporaryFolder,
  preparedWorker,
  readProcessFile,
  type TemporaryFolder,
} from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readEngineLocations } from "../config.ts";
import { startTestServer, type TestServer } from "../test/start-test-server.ts";
import type { EngineLocations } from "./engine-programs.ts";
import { installGpuEngine } from "./install-gpu.ts";
import { runSelfTests } from "./self-test.ts";
import { createSelfTestModel } from "./self-test-model.ts";

const lostGpuWorker = fileURLToPath(
  new URL("../../../../packages/llama-engine/src/driver/fixtures/lost-gpu-worker.ts", import.meta.url),
);
/**
 * Mesa's software device compiles every program of the GPU for the CPU when it is first used: seconds for the output
 * layer alone, minutes for a whole model.
 */
const { file, gpuLayers, words } = chooseSize({
  ci: { file: "tiny-llama.gguf", gpuLayers: 1, words: 8 },
  show: { file: "smollm2-135m-instruct-q4_1.gguf", gpuLayers: 99, words: 24 },
  nightly: { file: "smollm2-135m-instruct-q4_1.gguf", gpuLayers: 99, words: 24 },
} as const);
const timeout = 900_000;
/** In nats: weights of four bits lose more. */
const maxDifference = 0.25;

let folder: TemporaryFolder;
let locations: EngineLocations;
let gpu: { readonly backend: "vulkan"; readonly folder: string; readonly devices: string };
beforeAll(async () => {
  folder = await makeTemporaryFolder("gpu-engine");
  locations = readEngineLocations({ enginesFolder: folder.path, gpuDevices: "0" });
  const program = await installGpuEngine(locations, { backend: "vulkan", onStep: () => undefined });
  if (program.kind !== "binding" || program.buildFolder === undefined)
    throw new Error("Nothing was installed");
  gpu = { backend: "vulkan", folder: program.buildFolder, devices: "0" };
}, 300_000);
afterAll(() => folder[Symbol.asyncDispose]());

const logProbabilities = { logprobs: true, top_logprobs: 5 };

function generate(
  { url }: TestServer,
  options: Readonly<Record<string, unknown>>,
  stream = false,
): Promise<Response> {
  const body = { model: "model", prompt: "Once upon a time", raw: true, stream, ...logProbabilities };
  return fetch(`${url}/api/generate`, {
    method: "POST",
    body: JSON.stringify({ ...body, options: { temperature: 0, num_predict: words, ...options } }),
    signal: AbortSignal.timeout(timeout),
  });
}

type Candidate = { readonly token: string; readonly logprob: number };
type Generated = {
  readonly response: string;
  readonly logprobs: readonly (Candidate & { readonly top_logprobs: readonly Candidate[] })[];
};

async function read(response: Response): Promise<Generated> {
  expect(response.status).toBe(200);
  // The response of Ollama's /api/generate.
  return (await response.json()) as Generated;
}

async function textOf(response: Response): Promise<string> {
  return (await read(response)).response;
}

type Listed = { readonly size: number; readonly size_vram: number; readonly gpu_failure?: string };

async function listRunning({ url }: TestServer): Promise<readonly Listed[]> {
  const response = await fetch(`${url}/api/ps`);
  // The response of Ollama's /api/ps.
  return ((await response.json()) as { readonly models: readonly Listed[] }).models;
}

/** The process of the model that has loaded the Vulkan driver. */
function findGpuWorkers(): readonly number[] {
  return descendantsOf(process.pid).filter((pid) =>
    readProcessFile(pid, "maps").includes("libvulkan_lvp.so"),
  );
}

test("what npm notes about the registry is not kept, and nothing but the pinned packages is installed", async () => {
  expect((await readdir(gpu.folder)).toSorted()).toEqual([
    "node_modules",
    "package-lock.json",
    "package.json",
  ]);
  expect(await readdir(join(gpu.folder, "node_modules"))).toEqual(["@node-llama-cpp"]);
  expect(await readdir(join(gpu.folder, "node_modules", "@node-llama-cpp"))).toEqual(["linux-x64-vulkan"]);
  for (const name of ["package.json", "package-lock.json"]) {
    expect(await readFile(join(gpu.folder, name), "utf8")).not.toMatch(/https?:/u);
  }
});

test("a GPU answers like the CPU, its memory is counted, and after its loss the CPU answers and says so", {
  timeout,
}, async () => {
  const warnings: string[] = [];
  const onWarning = (message: string): void => void warnings.push(message);
  const driver = createLlamaDriver({ gpu, onWarning, workerProgram: lostGpuWorker });
  await using server = await startTestServer({ models: { model: { file } }, driver });
  const onProcessor = await read(await generate(server, {}));
  expect((await listRunning(server)).map(({ size_vram }) => size_vram)).toEqual([0]);
  const onGpu = await read(await generate(server, { num_gpu: gpuLayers }));
  const running = await listRunning(server);
  const gpuBytes = Math.max(...running.map(({ size_vram }) => size_vram));
  expect(gpuBytes).toBeGreaterThan(100_000);
  const [pid = 0, ...others] = findGpuWorkers();
  expect(others).toEqual([]);

  const interrupted = await generate(server, { num_gpu: gpuLayers, num_predict: 900 }, true);
  const lines: string[] = [];
  for await (const chunk of interrupted.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    if (lines.length === 0) process.kill(pid, "SIGUSR2");
    lines.push(chunk);
  }
  expect(JSON.parse(lines.join("").trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
    error: "the GPU failed, the next request runs on the CPU",
    code: "gpu-failed",
  });
  const afterwards = await textOf(await generate(server, { num_gpu: gpuLayers }));
  expect(afterwards).toBe(onProcessor.response);
  expect(findGpuWorkers()).toEqual([]);
  expect(warnings).toEqual([expect.stringMatching(/^The GPU was lost \(.*Lost.*\); models run on the CPU/u)]);
  const fallen = (await listRunning(server)).filter(({ gpu_failure }) => gpu_failure !== undefined);
  expect(fallen).toEqual([expect.objectContaining({ size_vram: 0 })]);

  const { tokens, sameTokens, difference } = compareTokens(onGpu, onProcessor);
  recordFigure({
    claim: "lean 8",
    text: `on Mesa's software Vulkan device, with ${gpuLayers === 1 ? "the output layer" : "all layers"} of ${file} offloaded, ${sameTokens} of ${tokens} tokens equal those of the CPU, log-probabilities of all up to the first other one within ${difference.toFixed(3)} (at most ${maxDifference}); ${(gpuBytes / 1e6).toFixed(1)} MB of GPU memory in ps; device lost in mid-answer: this answer fails with gpu-failed, the next one comes from the CPU, said in the log and in ps`,
  });
  expect(difference).toBeLessThanOrEqual(maxDifference);
});

/**
 * Two engines round differently, so the texts may part where two tokens are almost equally likely, and nothing after that
 * can be compared. Up to there, and for the token that the GPU chose instead, the CPU's log-probabilities are the GPU's.
 */
function compareTokens(
  { logprobs: actual }: Generated,
  { logprobs: expected }: Generated,
): { readonly tokens: number; readonly sameTokens: number; readonly difference: number } {
  const firstOther = expected.findIndex(({ token }, at) => token !== actual[at]?.token);
  const sameTokens = firstOther < 0 ? expected.length : firstOther;
  const differences = actual.slice(0, sameTokens + 1).map(({ token, logprob }, at) => {
    const onProcessor = expected[at]?.top_logprobs.find((candidate) => candidate.token === token);
    return Math.abs(logprob - (onProcessor?.logprob ?? Number.NEGATIVE_INFINITY));
  });
  return { tokens: expected.length, sameTokens, difference: Math.max(...differences) };
}

test("a GPU that cannot be opened leaves its models to the CPU, and the self-test says why", {
  timeout: 120_000,
}, async () => {
  const warnings: string[] = [];
  const missing = { ...gpu, devices: "7" };
  const driver = createLlamaDriver({
    gpu: missing,
    onWarning: (message) => void warnings.push(message),
    ...(await preparedWorker()),
  });
  await using server = await startTestServer({ models: { model: { file: "tiny-llama.gguf" } }, driver });
  expect(await textOf(await generate(server, { num_gpu: 1 }))).not.toBe("");
  expect(warnings).toEqual([expect.stringContaining('The GPU cannot load "')]);
  const reason = "no usable device was found";
  expect(await listRunning(server)).toMatchObject([{ size_vram: 0, gpu_failure: reason }]);
  const modelPath = await createSelfTestModel(folder.path);
  expect(await runSelfTests([driver], { modelPath, loadSettings: {} })).toEqual([
    { works: false, reason: `the GPU cannot be used: ${reason}` },
  ]);
});
