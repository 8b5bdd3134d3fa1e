import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, runPython } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { startTestKeep } from "../../test/start-test-keep.ts";
import { type Stage, setSecondStage, setStage } from "./test/fixture.ts";
import { describeBytes, type GeneratedFile, generateFiles } from "./test/generated-files.ts";

const files = 500;

test("500 generated files come back as they were, through an export and another vault, and other readers agree", async () => {
  await using keep = await startTestKeep({ settings: { writesPerMinute: "1000000" } });
  const lanes = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const first = await setStage(keep);
      return { first, second: await setSecondStage(keep, first) };
    }),
  );
  const generated = generateFiles(files);
  const exported = new Map<GeneratedFile, string>();
  const waiting = generated.map((file, index) => ({ file, folder: `/f${index}` }));
  await Promise.all(
    lanes.map(async ({ first, second }) => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        exported.set(next.file, await passThrough(next.file, next.folder, { first, second }));
      }
    }),
  );
  expect(exported.size).toBe(files);
  const secrets = generated.reduce((sum, { says }) => sum + says.size, 0);
  const dotenv = [...exported].filter(([{ format }]) => format === "dotenv");
  const bySh = await compareWithSh(dotenv);
  const byPython = await compareWithPython(dotenv);
  const text = `${exported.size} of ${files} files equal (${secrets} secrets); of ${dotenv.length} .env files sh reads ${bySh.values} values the same, python-dotenv ${byPython.values}`;
  recordFigure({ claim: "keep 18", text, counted: { reached: exported.size, needed: files } });
  expect(bySh.values).toBeGreaterThan(400);
  expect(byPython.values).toBeGreaterThan(300);
}, 300_000);

/** Import, export, import elsewhere: both vaults say what the file says. Gives what was exported. */
async function passThrough(
  { format, content, says }: GeneratedFile,
  folder: string,
  { first, second }: { readonly first: Stage; readonly second: Stage },
): Promise<string> {
  await first.importFile(content, `format=${format}&path=${folder}`);
  expect(await readFolder(first, folder)).toEqual(says);
  const exported = await first.exportFile(`format=${format}&path=${folder}&recursive=true`);
  const { created } = await second.importFile(exported, `format=${format}&path=${folder}`);
  expect(created).toHaveLength(says.size);
  expect(await readFolder(second, folder)).toEqual(says);
  return exported;
}

type Item = { path: string; type: string; value: string; encoding: BufferEncoding };

async function readFolder(stage: Stage, folder: string): Promise<ReadonlyMap<string, string>> {
  const response = await stage.ask(`values?path=${folder}&recursive=true`);
  // As its schema says.
  const { items } = (await response.json()) as { items: Item[] };
  return new Map(
    items.map(({ path, type, value, encoding }) => [
      path.slice(folder.length + 1),
      describeBytes(type, Buffer.from(value, encoding)),
    ]),
  );
}

type Exported = readonly (readonly [GeneratedFile, string])[];

/** sh has no way to write a carriage return but the character itself. */
async function compareWithSh(exported: Exported): Promise<{ readonly values: number }> {
  await using folder = await makeTemporaryFolder("dotenv");
  const paths = await Promise.all(
    exported.map(async ([, content], index) => {
      const path = join(folder.path, `${index}.env`);
      await writeFile(path, content);
      return path;
    }),
  );
  const script = 'for file; do (set -a; . "$file"; env -0); printf "\\n\\0"; done';
  const { stdout } = await promisify(execFile)("sh", ["-c", script, "sh", ...paths], { encoding: "buffer" });
  const readings = stdout.toString("utf8").split("\0\n\0");
  const values = exported.flatMap(([{ says }], index) => {
    const read = new Map(readings[index]?.split("\0").map((line) => splitAtSign(line)));
    return [...says].filter(([name, value]) => {
      const expected = textOf(value);
      if (expected.includes("\r")) return false;
      expect([name, read.get(name)]).toEqual([name, expected]);
      return true;
    });
  });
  return { values: values.length };
}

/**
 * Where python-dotenv reads another grammar than the shell: a backslash at the end of a value hides the quote after it,
 * two in single quotes are one, and a dollar sign or backtick in double quotes keeps the backslash before it.
 */
async function compareWithPython(exported: Exported): Promise<{ readonly values: number }> {
  await using folder = await makeTemporaryFolder("dotenv");
  const alike = exported.filter(
    ([{ says }]) => ![...says.values()].some((value) => textOf(value).endsWith("\\")),
  );
  const path = join(folder.path, "texts.json");
  await writeFile(path, JSON.stringify(alike.map(([, content]) => content)));
  const printed = await runPython(fileURLToPath(new URL("fixtures/read-dotenv.py", import.meta.url)), [path]);
  // What the fixture prints: one object for each text.
  const readings = JSON.parse(printed) as Record<string, string>[];
  const values = alike.flatMap(([{ says }], index) =>
    [...says].filter(([name, value]) => {
      const expected = textOf(value);
      const isDouble = /['\r]/u.test(expected);
      if (isDouble ? /[$`]/u.test(expected) : expected.includes("\\\\")) return false;
      expect([name, readings[index]?.[name]]).toEqual([name, expected]);
      return true;
    }),
  );
  return { values: values.length };
}

function textOf(described: string): string {
  return Buffer.from(described.slice("text ".length), "hex").toString("utf8");
}

function splitAtSign(line: string): [string, string] {
  const at = line.indexOf("=");
  return [line.slice(0, at), line.slice(at + 1)];
}
