import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, preparePython, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { hasExpectedLine } from "../../claims/ground/quick-start.ts";

const root = resolve(import.meta.dirname, "../..");
const minCommands = 15;

type Instructions = {
  readonly files: readonly { readonly name: string; readonly content: string }[];
  readonly commands: readonly string[];
  readonly expectedLines: readonly string[];
};

test("the documented commands set up a working fleet", { timeout: 180_000 }, async () => {
  const { files, commands, expectedLines } = readInstructions(
    await readFile(join(root, "docs/hearth/deployment.md"), "utf8"),
  );
  expect(commands.length).toBeGreaterThanOrEqual(minCommands);
  await using folder = await makeTemporaryFolder("fleet-page");
  for (const { name, content } of files) await writeFile(join(folder.path, name), content);
  const output = await runCommands(commands, folder.path);
  const found = expectedLines.filter((line) => hasExpectedLine(output, line));
  expect(
    expectedLines.filter((line) => !found.includes(line)),
    output,
  ).toEqual([]);
  recordFigure({
    claim: "engines 10",
    text: `${commands.length} commands of the page were run, ${found.length} of ${expectedLines.length} expected lines were printed`,
    counted: { reached: found.length, needed: 4 },
  });
});

function readInstructions(markdown: string): Instructions {
  const section = /<!-- fleet -->([\s\S]*?)<!-- \/fleet -->/u.exec(markdown)?.[1] ?? "";
  const files = [...section.matchAll(/Save this as `([^`/]+)`:\s+```\w+\n([\s\S]*?)^```$/gmu)];
  const lines = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gmu)].flatMap(({ 1: block = "" }) =>
    block.trim().split("\n"),
  );
  return {
    files: files.map(({ 1: name = "", 2: content = "" }) => ({ name, content })),
    commands: lines.filter((line) => !line.startsWith("# ")),
    expectedLines: lines.filter((line) => line.startsWith("# ")).map((line) => line.slice(2)),
  };
}

/**
 * Runs the commands in one shell with the programs of this checkout and a test model. Continues after errors, so that the
 * last commands stop everything that was started.
 */
async function runCommands(commands: readonly string[], folder: string): Promise<string> {
  const { interpreter } = await preparePython();
  const hearth = join(folder, "npx");
  // Stands in for `npx --no hearth`, which needs an installed package.
  await writeFile(
    hearth,
    `#!/bin/sh\nshift 2\nexec "${process.execPath}" "${root}/apps/hearth/src/main.ts" "$@"\n`,
  );
  await chmod(hearth, 0o755);
  const model = await testModel("tiny-llama.gguf");
  // Responses do not end with a line break, so one is printed after each command.
  const script = commands.map((line) => line.replaceAll("YOUR-MODEL.gguf", model)).join("\necho\n");
  const environment = `export PATH="${folder}:${dirname(interpreter)}:$PATH" HOME="${folder}"`;
  const child = spawn("bash", ["-c", `${environment}\n${script}`], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return `${out}\n${errors}`;
}
