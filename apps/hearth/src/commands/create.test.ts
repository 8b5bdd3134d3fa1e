import { execFile } from "node:child_process";
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createCatalog } from "../models/catalog.ts";
import { openModelStore } from "../models/store/model-store.ts";
import { writeAdapter } from "../models/test/adapter-file.ts";

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
  expect([code, output]).toEqual([0, "Created Tiny:latest\n"]);
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

test("create takes a Modelfile, whose files are beside it, and one that starts from another model", async () => {
  await using folder = await makeTemporaryFolder("models");
  await using beside = await makeTemporaryFolder("modelfile");
  await copyFile(await testModel("tiny-llama.gguf"), join(beside.path, "tiny.gguf"));
  await writeFile(join(beside.path, "adapter.gguf"), writeAdapter());
  const first = join(beside.path, "Modelfile");
  await writeFile(
    first,
    'FROM ./tiny.gguf\nADAPTER adapter.gguf\nPARAMETER temperature 0.5\nSYSTEM """a\nb"""\n',
  );
  const second = join(beside.path, "other");
  await writeFile(second, "# an alias\nfrom tuned\nparameter seed 7\n");
  expect(await hearth("create", "tuned", "-f", first, "--models", folder.path)).toEqual({
    code: 0,
    output: "Created tuned:latest\n",
  });
  expect((await hearth("create", "alias", "--file", second, "--models", folder.path)).code).toBe(0);
  const described = await createCatalog([await openModelStore(folder.path, "own")]).describe("alias");
  expect(described).toMatchObject({ system: "a\nb", details: { parentModel: "tuned:latest" } });
  expect(described.parameters.values).toEqual({ temperature: 0.5, seed: 7 });
  expect(described.adapterPaths).toHaveLength(1);
});

test.each([
  ["FROM tiny\nWHAT x\n", 2, /line 2 of the Modelfile: it must begin with one of FROM/],
  ["SYSTEM x\n", 2, /no line with FROM/],
  ["FROM ./gone.gguf\n", 2, /there is no such file/],
  ["FROM gone\n", 5, /There is no model "gone"/],
])("a Modelfile of %j is refused with a sentence", async (content, exitCode, sentence) => {
  await using folder = await makeTemporaryFolder("models");
  const file = join(folder.path, "Modelfile");
  await writeFile(file, content);
  const { code, output } = await hearth("create", "m", "-f", file, "--models", folder.path);
  expect([code, output]).toEqual([exitCode, expect.stringMatching(sentence)]);
});

test("create without anything to make a model of, or with two, says so", async () => {
  await using folder = await makeTemporaryFolder("models");
  for (const words of [[], ["--from", "a", "-f", "b"]]) {
    const { code, output } = await hearth("create", "m", ...words, "--models", folder.path);
    expect([code, output]).toEqual([2, expect.stringContaining("Cannot make a model of nothing")]);
  }
});
