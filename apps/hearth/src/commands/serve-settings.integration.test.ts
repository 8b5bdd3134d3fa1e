import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { EngineDriver, LoadPlan } from "@hearth-and-keep/engine";
import { createFakeEngine } from "@hearth-and-keep/engine/testing";
import { createLogger } from "@hearth-and-keep/logging";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { readServeConfig } from "../config.ts";
import { createFromFile } from "../models/create-from-file.ts";
import { openStores } from "../models/open-stores.ts";
import { logFields } from "../server.ts";
import { serve } from "./serve.ts";

type Flags = Readonly<Record<string, string>>;

/** Serves in this process, and returns the load options that its fake engine received. */
async function withServer(flags: Flags, use: (url: string) => Promise<void>): Promise<readonly LoadPlan[]> {
  await using folder = await makeTemporaryFolder("settings");
  const models = folder.path;
  const from = await testModel("tiny-llama.gguf");
  await createFromFile(await openStores(models), { name: "tiny", file: from });
  const plans: LoadPlan[] = [];
  const driver: EngineDriver = {
    load: async (plan) => {
      plans.push(plan);
      return createFakeEngine(() => [], { contextTokens: plan.contextTokens, sequences: plan.sequences });
    },
  };
  const stop = new AbortController();
  const listening = Promise.withResolvers<string>();
  const served = serve(readServeConfig({ port: "0", models, ...flags }, undefined), {
    driver,
    logger: createLogger({ level: "silent", allowedFields: logFields, write: () => undefined }),
    print: (line) => listening.resolve(line.split(" ").at(-1) ?? ""),
    signal: stop.signal,
    missingProtections: [],
  });
  try {
    await use(await Promise.race([listening.promise, served.then(() => "")]));
  } finally {
    stop.abort();
    await served;
  }
  return plans;
}

async function generate(url: string): Promise<number> {
  const body = JSON.stringify({ model: "tiny", prompt: "Hello", stream: false });
  const response = await fetch(`${url}/api/generate`, { method: "POST", body });
  await response.text();
  return response.status;
}

async function loadedModels(url: string): Promise<number> {
  const response = await fetch(`${url}/api/ps`);
  // The response of Ollama's /api/ps.
  const { models } = (await response.json()) as { models: readonly unknown[] };
  return models.length;
}

test("the context length, parallel requests and threads are passed to the engine", async () => {
  const flags = { contextLength: "128", parallelRequests: "3", threads: "2" };
  const [plan] = await withServer(flags, async (url) => expect(await generate(url)).toBe(200));
  expect(plan).toMatchObject({ contextTokens: 128, sequences: 3, threads: 2 });
});

test("by default eight requests run in parallel and the engine chooses its threads", async () => {
  const [plan] = await withServer({}, async (url) => expect(await generate(url)).toBe(200));
  expect(plan?.sequences).toBe(8);
  expect(plan).not.toHaveProperty("threads");
});

test("with a keep-alive of 0 a model is unloaded at once, and otherwise it stays loaded", async () => {
  await withServer({ keepAlive: "0s" }, async (url) => {
    await generate(url);
    await expect.poll(() => loadedModels(url)).toBe(0);
  });
  await withServer({}, async (url) => {
    await generate(url);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await loadedModels(url)).toBe(1);
  });
});

test("a model that exceeds the memory budget is rejected, and one within it is loaded", async () => {
  await withServer({ memoryBudget: "1KB" }, async (url) => expect(await generate(url)).not.toBe(200));
  await withServer({ memoryBudget: "1GiB" }, async (url) => expect(await generate(url)).toBe(200));
});

async function statusWith(url: string, headers: Record<string, string>): Promise<number> {
  return (await fetch(`${url}/api/version`, { headers })).status;
}

test("named keys from a file work in addition to the single key", async () => {
  await using folder = await makeTemporaryFolder("keys");
  const path = join(folder.path, "keys");
  await writeFile(path, "# ours\nlaptop:canary-1\nphone:canary-2\n", { mode: 0o600 });
  await withServer({ apiKeysFile: path, apiKey: "canary-3" }, async (url) => {
    const statuses = ["canary-1", "canary-2", "canary-3", "canary-4"].map((key) =>
      statusWith(url, { "x-api-key": key }),
    );
    expect(await Promise.all(statuses)).toEqual([200, 200, 200, 401]);
  });
});

test.each([
  ["a missing key file", undefined, "cannot read"],
  ["a key file without keys", "# none yet\n", "it contains no keys"],
  ["a line without a name", "canary-1\n", "line 1 must have the form name:key"],
  ["the name of the single key", "default:canary-1\n", 'the name "default" is reserved for the key'],
])("%s prevents the server from starting", async (_case, text, message) => {
  await using folder = await makeTemporaryFolder("keys");
  const path = join(folder.path, "keys");
  if (text !== undefined) await writeFile(path, text, { mode: 0o600 });
  const start = withServer({ apiKeysFile: path, apiKey: "canary-3" }, async () => undefined);
  const error = await start.then(
    () => "it started",
    (reason: Error) => reason.message,
  );
  expect(error).toContain(message);
  expect(error).not.toContain("canary");
});

test("allowed origins may call the API, and others may not", async () => {
  const flags = { allowedHosts: "models.example", allowedOrigins: "https://chat.example" };
  await withServer(flags, async (url) => {
    expect(await statusWith(url, { origin: "https://chat.example" })).toBe(200);
    expect(await statusWith(url, { origin: "https://other.example" })).toBe(403);
  });
});

test("several keys in the setting for a single key prevent the server from starting", async () => {
  const start = withServer({ apiKey: "laptop:canary-1\nphone:canary-2" }, async () => undefined);
  await expect(start).rejects.toThrow(
    "--api-key must not contain whitespace; use --api-keys-file for several keys",
  );
});

test.each([
  [{ trustedProxies: "10.0.0.0/8, 192.168.1.1, ::1/128" }, ""],
  [{ trustedProxies: "10.0.0.0/33" }, 'is not an IP address or a range, e.g. 10.0.0.0/8: "10.0.0.0/33"'],
  [{ trustedProxies: "proxy.example" }, "is not an IP address or a range"],
  [{ allowedHosts: "https://models.example" }, "is not a host or host:port"],
  [{ allowedOrigins: "chat.example" }, "is not scheme://host or null"],
  [{ keepAlive: "soon" }, "must be a duration, e.g. 30s, 5m or 2h, or forever"],
  [{ keepAlive: "forever", memoryBudget: "12GiB" }, ""],
  [{ memoryBudget: "12" }, "must be a size, e.g. 800MB or 12GiB"],
])("settings %j are accepted, or rejected with a message", (flags, message) => {
  let text = "";
  try {
    readServeConfig(flags, undefined);
  } catch (error) {
    text = error instanceof Error ? error.message : "";
  }
  expect(text).toContain(message);
  expect(text === "").toBe(message === "");
});
