import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, preparePython, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { isPromiseKept } from "../../claims/ground/quick-start.ts";

const root = resolve(import.meta.dirname, "../..");
const leastCommands = 15;

type Page = {
  readonly files: readonly { readonly name: string; readonly content: string }[];
  readonly commands: readonly string[];
  readonly promises: readonly string[];
};

test("the fleet of the documentation stands when its commands are typed", { timeout: 180_000 }, async () => {
  const { files, commands, promises } = readPage(
    await readFile(join(root, "docs/hearth/deployment.md"), "utf8"),
  );
  expect(commands.length).toBeGreaterThanOrEqual(leastCommands);
  await using folder = await makeTemporaryFolder("fleet-page");
  for (const { name, content } of files) await writeFile(join(folder.path, name), content);
  const output = await type(commands, folder.path);
  const kept = promises.filter((promise) => isPromiseKept(output, promise));
  expect(
    promises.filter((promise) => !kept.includes(promise)),
    output,
  ).toEqual([]);
  recordFigure({
    claim: "engines 10",
    text: `${commands.length} commands of the page were typed, ${kept.length} of ${promises.length} promised lines came`,
    counted: { reached: kept.length, needed: 4 },
  });
});

function readPage(markdown: string): Page {
  const section = /<!-- fleet -->([\s\S]*?)<!-- \/fleet -->/u.exec(markdown)?.[1] ?? "";
  const files = [...section.matchAll(/Save this as `([^`/]+)`:\s+```\w+\n([\s\S]*?)^```$/gmu)];
  const lines = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gmu)].flatMap(({ 1: block = "" }) =>
    block.trim().split("\n"),
  );
  return {
    files: files.map(({ 1: name = "", 2: content = "" }) => ({ name, content })),
    commands: lines.filter((line) => !line.startsWith("# ")),
    promises: lines.filter((line) => line.startsWith("# ")).map((line) => line.slice(2)),
  };
}

/** As one person does in one terminal, to the end whatever happens, so that nothing is left; with the programs of this checkout and the model of the tests. */
async function type(commands: readonly string[], folder: string): Promise<string> {
  const { interpreter } = await preparePython();
  const hearth = join(folder, "npx");
  // What the reader's own `npx --no hearth` runs, without a checkout around it.
  await writeFile(
    hearth,
    `#!/bin/sh\nshift 2\nexec "${process.execPath}" "${root}/apps/hearth/src/main.ts" "$@"\n`,
  );
  await chmod(hearth, 0o755);
  const model = await testModel("tiny-llama.gguf");
  // An answer has no end of line, which a terminal shows and a file does not.
  const script = commands.map((line) => line.replaceAll("YOUR-MODEL.gguf", model)).join("\necho\n");
  const places = `export PATH="${folder}:${dirname(interpreter)}:$PATH" HOME="${folder}"`;
  const child = spawn("bash", ["-c", `${places}\n${script}`], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, problems] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return `${out}\n${problems}`;
}
