import { createLogger } from "@hearth-and-keep/logging";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { readServeConfig } from "../config.ts";
import { logFields } from "../server.ts";
import { serve } from "./serve.ts";

test("a server that was asked to end says that it is not ready, and takes requests until its time is over", async () => {
  await using folder = await makeTemporaryFolder("drain");
  const flags = { port: "0", models: folder.path, drainSeconds: "1" };
  const ending = new AbortController();
  const listening = Promise.withResolvers<string>();
  const served = serve(readServeConfig(flags, undefined), {
    driver: { load: () => Promise.reject(new Error("nothing is loaded here")) },
    logger: createLogger({ level: "error", allowedFields: logFields, write: () => undefined }),
    print: (line) => listening.resolve(/http\S+/u.exec(line)?.[0] ?? ""),
    signal: ending.signal,
    missingProtections: [],
  });
  const url = await listening.promise;
  const ask = async (path: string): Promise<number> => (await fetch(url + path)).status;
  expect([await ask("/readyz"), await ask("/api/tags")]).toEqual([200, 200]);
  ending.abort();
  expect([await ask("/readyz"), await ask("/api/tags")]).toEqual([503, 200]);
  await served;
  await expect(fetch(`${url}/readyz`)).rejects.toThrow("fetch failed");
});
