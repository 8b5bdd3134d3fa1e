import type { EngineDriver } from "@hearth-and-keep/engine";
import { createFakeEngine } from "@hearth-and-keep/engine/testing";
import { createLogger } from "@hearth-and-keep/logging";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { readServeConfig } from "../config.ts";
import { createFromFile } from "../models/create-from-file.ts";
import { openModelStore } from "../models/store/model-store.ts";
import { logFields } from "../server.ts";
import { serve } from "./serve.ts";

type ServerProcess = { readonly url: string; readonly served: Promise<void>; readonly stop: AbortController };

async function startServer(models: string, driver: EngineDriver): Promise<ServerProcess> {
  const flags = { port: "0", models, drainSeconds: "1", parallelRequests: "1" };
  const stop = new AbortController();
  const listening = Promise.withResolvers<string>();
  const served = serve(readServeConfig(flags, undefined), {
    driver,
    logger: createLogger({ level: "error", allowedFields: logFields, write: () => undefined }),
    print: (line) => listening.resolve(/http\S+/u.exec(line)?.[0] ?? ""),
    signal: stop.signal,
    missingProtections: [],
  });
  return { url: await listening.promise, served, stop };
}

test("a stopping server reports that it is not ready, and accepts requests until the drain time is over", async () => {
  await using folder = await makeTemporaryFolder("drain");
  const driver = { load: () => Promise.reject(new Error("nothing is loaded here")) };
  const { url, served, stop } = await startServer(folder.path, driver);
  const statusOf = async (path: string): Promise<number> => (await fetch(url + path)).status;
  expect([await statusOf("/readyz"), await statusOf("/api/tags")]).toEqual([200, 200]);
  stop.abort();
  expect([await statusOf("/readyz"), await statusOf("/api/tags")]).toEqual([503, 200]);
  await served;
  await expect(fetch(`${url}/readyz`)).rejects.toThrow("fetch failed");
});

test("requests still queued when the drain time is over are completed before the server stops", async () => {
  await using folder = await makeTemporaryFolder("drain");
  const store = await openModelStore(folder.path, "own");
  await createFromFile([store], { name: "tiny", file: await testModel("tiny-llama.gguf") });
  const engine = createFakeEngine(() => [
    { do: "wait", milliseconds: 800 },
    { do: "write", text: "Hello" },
    { do: "end", reason: "stop" },
  ]);
  const { url, served, stop } = await startServer(folder.path, { load: () => Promise.resolve(engine) });
  const body = JSON.stringify({ model: "tiny", prompt: "Hi", stream: false });
  const responses = [1, 2, 3].map(async () => {
    const response = await fetch(`${url}/api/generate`, { method: "POST", body });
    return [response.status, (await response.text()).includes("Hello")];
  });
  stop.abort();
  expect(await Promise.all(responses)).toEqual([1, 2, 3].map(() => [200, true]));
  await served;
});
