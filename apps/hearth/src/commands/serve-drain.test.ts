import type { EngineDriver } from "@hearth-and-keep/engine";
import { createScriptedEngine } from "@hearth-and-keep/engine/testing";
import { createLogger } from "@hearth-and-keep/logging";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { readServeConfig } from "../config.ts";
import { createFromFile } from "../models/create-from-file.ts";
import { openModelStore } from "../models/store/model-store.ts";
import { logFields } from "../server.ts";
import { serve } from "./serve.ts";

type Node = { readonly url: string; readonly served: Promise<void>; readonly ending: AbortController };

async function startNode(models: string, driver: EngineDriver): Promise<Node> {
  const flags = { port: "0", models, drainSeconds: "1", parallelRequests: "1" };
  const ending = new AbortController();
  const listening = Promise.withResolvers<string>();
  const served = serve(readServeConfig(flags, undefined), {
    driver,
    logger: createLogger({ level: "error", allowedFields: logFields, write: () => undefined }),
    print: (line) => listening.resolve(/http\S+/u.exec(line)?.[0] ?? ""),
    signal: ending.signal,
    missingProtections: [],
  });
  return { url: await listening.promise, served, ending };
}

test("a server that was asked to end says that it is not ready, and takes requests until its time is over", async () => {
  await using folder = await makeTemporaryFolder("drain");
  const driver = { load: () => Promise.reject(new Error("nothing is loaded here")) };
  const { url, served, ending } = await startNode(folder.path, driver);
  const ask = async (path: string): Promise<number> => (await fetch(url + path)).status;
  expect([await ask("/readyz"), await ask("/api/tags")]).toEqual([200, 200]);
  ending.abort();
  expect([await ask("/readyz"), await ask("/api/tags")]).toEqual([503, 200]);
  await served;
  await expect(fetch(`${url}/readyz`)).rejects.toThrow("fetch failed");
});

test("who still waits in line when that time is over is answered before the server ends", async () => {
  await using folder = await makeTemporaryFolder("drain");
  const store = await openModelStore(folder.path, "own");
  await createFromFile([store], { name: "tiny", file: await testModel("tiny-llama.gguf") });
  const engine = createScriptedEngine(() => [
    { do: "wait", milliseconds: 800 },
    { do: "say", text: "Hello" },
    { do: "end", reason: "stop" },
  ]);
  const { url, served, ending } = await startNode(folder.path, { load: () => Promise.resolve(engine) });
  const body = JSON.stringify({ model: "tiny", prompt: "Hi", stream: false });
  const answers = [1, 2, 3].map(async () => {
    const answer = await fetch(`${url}/api/generate`, { method: "POST", body });
    return [answer.status, (await answer.text()).includes("Hello")];
  });
  ending.abort();
  expect(await Promise.all(answers)).toEqual([1, 2, 3].map(() => [200, true]));
  await served;
});
