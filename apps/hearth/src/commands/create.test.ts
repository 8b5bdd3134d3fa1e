import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createCatalog } from "../models/catalog.ts";
import { openModelStore } from "../models/store/model-store.ts";

const program = fileURLToPath(new URL("../../bin/hearth.js", import.meta.url));

type Ended = { readonly code: number; readonly output: string };

function hearth(...words: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...words], (problem, output, errors) => {
      resolve({ code: problem === null ? 0 : Number(problem.code), output: output + errors });
    });
  });
}

test("create puts a model file into the store under a name, and says so", async () => {
  await using folder = await makeTemporaryFolder("models");
  const from = await testModel("tiny-llama.gguf");
  const { code, output } = await hearth("create", "Tiny", "--from", from, "--models", folder.path);
  expect([code, output]).toEqual([0, expect.stringMatching(/^Created Tiny:latest from \d+ MB\n$/)]);
  const catalog = createCatalog([await openModelStore(folder.path, "own")]);
  expect((await catalog.describe("tiny")).name).toBe("Tiny:latest");
});

test("what cannot be created is told in one sentence, without a stack and without a model", async () => {
  await using folder = await makeTemporaryFolder("models");
  const broken = join(folder.path, "broken.gguf");
  await writeFile(broken, "GGUF but no more");
  const from = await testModel("tiny-llama.gguf");
  const wrong: readonly (readonly [name: string, from: string, sentence: string])[] = [
    ["tiny", join(folder.path, "nowhere.gguf"), "there is no such file"],
    ["tiny", broken, "Cannot use the model file"],
    ["../tiny", from, 'Cannot use the name "../tiny"'],
  ];
  for (const [name, file, sentence] of wrong) {
    const { code, output } = await hearth("create", name, "--from", file, "--models", folder.path);
    expect(code).toBe(2);
    expect(output).toContain(sentence);
    expect(output).not.toContain("    at ");
  }
  const catalog = createCatalog([await openModelStore(folder.path, "own")]);
  expect((await catalog.list()).models).toEqual([]);
});
