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

type CommandResult = { readonly code: number; readonly output: string };

function hearth(...args: readonly string[]): Promise<CommandResult> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], (error, output, errors) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: output + errors });
    });
  });
}

test("create adds a model file to the store under a name, and reports it", async () => {
  await using folder = await makeTemporaryFolder("models");
  const from = await testModel("tiny-llama.gguf");
  const { code, output } = await hearth("create", "Tiny", "--from", from, "--models", folder.path);
  expect([code, output]).toEqual([0, "Created Tiny:latest\n"]);
  const catalog = createCatalog([await openModelStore(folder.path, "own")]);
  expect((await catalog.describe("tiny")).name).toBe("Tiny:latest");
});

test("a failed create prints a message without a stack trace, and creates no model", async () => {
  await using folder = await makeTemporaryFolder("models");
  const broken = join(folder.path, "broken.gguf");
  await writeFile(broken, "GGUF but no more");
  const from = await testModel("tiny-llama.gguf");
  const cases: readonly (readonly [name: string, from: string, message: string])[] = [
    ["tiny", join(folder.path, "nowhere.gguf"), "file not found"],
    ["tiny", broken, "Cannot use the model file"],
    ["../tiny", from, 'Invalid model name "../tiny"'],
  ];
  for (const [name, file, message] of cases) {
    const { code, output } = await hearth("create", name, "--from", file, "--models", folder.path);
    expect(code).toBe(2);
    expect(output).toContain(message);
    expect(output).not.toContain("    at ");
  }
  const catalog = createCatalog([await openModelStore(folder.path, "own")]);
  expect((await catalog.list()).models).toEqual([]);
});

test("create accepts a Modelfile with files relative to it, and one based on another model", async () => {
  await using folder = await makeTemporaryFolder("models");
  await using source = await makeTemporaryFolder("modelfile");
  await copyFile(await testModel("tiny-llama.gguf"), join(source.path, "tiny.gguf"));
  await writeFile(join(source.path, "adapter.gguf"), writeAdapter());
  const first = join(source.path, "Modelfile");
  await writeFile(
    first,
    'FROM ./tiny.gguf\nADAPTER adapter.gguf\nPARAMETER temperature 0.5\nSYSTEM """a\nb"""\n',
  );
  const second = join(source.path, "other");
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
  ["FROM tiny\nWHAT x\n", 2, /line 2 of the Modelfile: unknown instruction; expected one of FROM/],
  ["SYSTEM x\n", 2, /no FROM instruction/],
  ["FROM ./gone.gguf\n", 2, /file not found/],
  ["FROM gone\n", 5, /Model "gone" not found/],
])("the Modelfile %j is rejected with a message", async (content, exitCode, message) => {
  await using folder = await makeTemporaryFolder("models");
  const file = join(folder.path, "Modelfile");
  await writeFile(file, content);
  const { code, output } = await hearth("create", "m", "-f", file, "--models", folder.path);
  expect([code, output]).toEqual([exitCode, expect.stringMatching(message)]);
});

test("create without a source, or with two, is rejected", async () => {
  await using folder = await makeTemporaryFolder("models");
  for (const args of [[], ["--from", "a", "-f", "b"]]) {
    const { code, output } = await hearth("create", "m", ...args, "--models", folder.path);
    expect([code, output]).toEqual([2, expect.stringContaining("Cannot create a model without a source")]);
  }
});
