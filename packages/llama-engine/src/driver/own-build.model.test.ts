import { chmod, cp, mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import {
  descendantsOf,
  makeTemporaryFolder,
  readProcessFile,
  testModel,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import manifest from "../../../../node_modules/node-llama-cpp/package.json" with { type: "json" };
import { createLlamaDriver } from "./llama-driver.ts";

const platform = `${process.platform}-${process.arch}`;

/** Creates the output of `hearth engine build`, with the libraries of the prebuilt package. */
async function createBuild(folder: string): Promise<void> {
  const installed = createRequire(import.meta.url).resolve(`@node-llama-cpp/${platform}`);
  // The worker of a server that runs as root runs as nobody.
  await chmod(folder, 0o755);
  await mkdir(join(folder, "bins"));
  await cp(join(dirname(installed), "..", "bins", platform), join(folder, "bins", platform), {
    recursive: true,
  });
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const result = `({ binsDir: import.meta.dirname + "/bins", packageVersion: "${manifest.version}" })`;
  await writeFile(join(folder, "index.js"), `export const getBinsDir = () => ${result};`);
}

function loadedLibraries(): string {
  return descendantsOf(process.pid)
    .map((pid) => readProcessFile(pid, "maps"))
    .join("\n");
}

test("a worker uses a local build if there is one, and the prebuilt package otherwise", async () => {
  await using folder = await makeTemporaryFolder("own-build");
  await createBuild(folder.path);
  const modelPath = await testModel("tiny-llama.gguf");
  const plan = {
    modelPath,
    contextTokens: 128,
    sequences: 1,
    threads: 1,
    gpuLayers: 0,
    purpose: "generate",
  } as const;
  const options = { signal: new AbortController().signal, onProgress: () => undefined };
  {
    await using engine = await createLlamaDriver({ buildFolder: folder.path }).load(plan, options);
    expect(await engine.tokenize("a")).not.toEqual([]);
    expect(loadedLibraries()).toContain(`${folder.path}/bins/${platform}/llama-addon.node`);
  }
  await using engine = await createLlamaDriver().load(plan, options);
  expect(await engine.tokenize("a")).not.toEqual([]);
  expect(loadedLibraries()).not.toContain(folder.path);
});
