import type { EngineDriver, LoadPlan } from "@hearth-and-keep/engine";
import { createFakeEngine } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { accessKey } from "../../access/keys.ts";
import {
  startTestServer,
  type TestServer,
  type TestServerOptions,
  tiny,
} from "../../test/start-test-server.ts";

type Started = TestServer & { readonly plans: readonly LoadPlan[] };

async function start(usesGpu: boolean, options: Partial<TestServerOptions> = {}): Promise<Started> {
  const plans: LoadPlan[] = [];
  const driver: EngineDriver = {
    usesGpu,
    load: async (plan) => {
      plans.push(plan);
      const { contextTokens, sequences } = plan;
      return createFakeEngine(() => [{ do: "write", text: "hello" }], { contextTokens, sequences });
    },
  };
  const server = await startTestServer({ models: { tiny }, driver, ...options });
  return { ...server, plans };
}

function generate({ url }: TestServer, model: string, options: Readonly<Record<string, unknown>>) {
  const body = { model, prompt: "hi", stream: false, options };
  return fetch(`${url}/api/generate`, { method: "POST", body: JSON.stringify(body) });
}

const names = ["gpuLayers", "batchTokens", "cacheType", "flashAttention"] as const;

function settingsOf(plan: LoadPlan | undefined): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    names.flatMap((name) => (plan?.[name] === undefined ? [] : [[name, plan[name]]])),
  );
}

test("the engine gets the settings of the server, of the model and of the request, the last first", async () => {
  await using server = await start(true, {
    loadSettings: { gpuLayers: 3, batchTokens: 256, cacheType: "q8_0", flashAttention: true },
  });
  expect((await generate(server, "tiny", {})).status).toBe(200);
  const parameters = { num_gpu: 2, num_batch: 128, kv_cache_type: "f16" };
  const created = { model: "own", from: "tiny", parameters, stream: false };
  await fetch(`${server.url}/api/create`, { method: "POST", body: JSON.stringify(created) });
  expect((await generate(server, "own", {})).status).toBe(200);
  const options = { num_gpu: 1, num_batch: 1000.5, flash_attention: false };
  const response = await generate(server, "own", options);
  expect([response.status, response.headers.get("hearth-ignored")]).toEqual([200, null]);
  expect(server.plans.map(settingsOf)).toEqual([
    { gpuLayers: 3, batchTokens: 256, cacheType: "q8_0", flashAttention: true },
    { gpuLayers: 2, batchTokens: 128, cacheType: "f16", flashAttention: true },
    { gpuLayers: 1, batchTokens: 512, cacheType: "f16", flashAttention: false },
  ]);
});

test("a key for inference causes no load by its options, which are named as ignored", async () => {
  await using server = await start(true, {
    access: { keys: [accessKey("guest", "guest-key", "inference")] },
  });
  const headers = { "x-api-key": "guest-key" };
  for (const num_batch of [64, 128, 256]) {
    const body = { model: "tiny", prompt: "hi", stream: false, options: { num_batch, num_gpu: 1 } };
    const options = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(`${server.url}/api/generate`, options);
    expect(response.status).toBe(200);
    expect(response.headers.get("hearth-ignored")).toBe('fields=("options.num_batch" "options.num_gpu")');
  }
  expect(server.plans).toHaveLength(1);
});

test("the same settings share a load, and layers cause none where there is no GPU", async () => {
  await using server = await start(false);
  for (const num_gpu of [undefined, -1, 0, 99]) await generate(server, "tiny", { num_gpu });
  for (const num_batch of [64, 65, 127]) await generate(server, "tiny", { num_batch });
  expect(server.plans.map(settingsOf)).toEqual([{ gpuLayers: 0 }, { gpuLayers: 0, batchTokens: 64 }]);
});

test.for([
  ["num_gpu", "all", "must be of type integer"],
  ["num_gpu", -2, "must be a whole number from -1 to 100000"],
  ["num_batch", 0, "must be a whole number from 1 to"],
  ["kv_cache_type", 8, "must be of type string"],
  ["kv_cache_type", "q2_k", "must be one of f16, q8_0, q4_0"],
  ["flash_attention", "on", "must be of type boolean"],
] as const)("the option %s is rejected with the value %j", async ([name, value, reason]) => {
  await using server = await start(true);
  const response = await generate(server, "tiny", { [name]: value });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain(reason);
  expect(server.plans).toEqual([]);
});
