import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, runPython } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { startTestKeep } from "../../test/start-test-keep.ts";
import { addSecondVault, createFixture, type VaultFixture } from "./test/fixture.ts";
import { describeBytes, type GeneratedFile, generateFiles } from "./test/generated-files.ts";

const files = 500;

test("500 generated files round-trip through an export and another vault, and other parsers agree", async () => {
  await using keep = await startTestKeep({ settings: { writesPerMinute: "1000000" } });
  const workers = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const first = await createFixture(keep);
      return { first, second: await addSecondVault(keep, first) };
    }),
  );
  const generated = generateFiles(files);
  const exported = new Map<GeneratedFile, string>();
  const pending = generated.map((file, index) => ({ file, folder: `/f${index}` }));
  await Promise.all(
    workers.map(async ({ first, second }) => {
      for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
        exported.set(next.file, await roundTrip(next.file, next.folder, { first, second }));
      }
    }),
  );
  expect(exported.size).toBe(files);
  const secrets = generated.reduce((sum, file) => sum + file.secrets.size, 0);
  const dotenv = [...exported].filter(([{ format }]) => format === "dotenv");
  const bySh = await compareWithSh(dotenv);
  const byPython = await compareWithPython(dotenv);
  const text = `${exported.size} of ${files} files equal (${secrets} secrets); of ${dotenv.length} .env files sh reads ${bySh.values} values the same, python-dotenv ${byPython.values}`;
  recordFigure({ claim: "keep 18", text, counted: { reached: exported.size, needed: files } });
  expect(bySh.values).toBeGreaterThan(400);
  expect(byPython.values).toBeGreaterThan(300);
}, 300_000);

/** Imports, exports and imports into another vault; both vaults must match the file. Returns the export. */
async function roundTrip(
  { format, content, secrets: expectedSecrets }: GeneratedFile,
  folder: string,
  { first, second }: { readonly first: VaultFixture; readonly second: VaultFixture },
): Promise<string> {
  await first.importFile(content, `format=${format}&path=${folder}`);
  expect(await readFolder(first, folder)).toEqual(expectedSecrets);
  const exported = await first.exportFile(`format=${format}&path=${folder}&recursive=true`);
  const { created } = await second.importFile(exported, `format=${format}&path=${folder}`);
  expect(created).toHaveLength(expectedSecrets.size);
  expect(await readFolder(second, folder)).toEqual(expectedSecrets);
  return exported;
}

type Item = { path: string; type: string; value: string; encoding: BufferEncoding };

async function readFolder(fixture: VaultFixture, folder: string): Promise<ReadonlyMap<string, string>> {
  const response = await fixture.request(`values?path=${folder}&recursive=true`);
  // The response schema.
  const { items } = (await response.json()) as { items: Item[] };
  return new Map(
    items.map(({ path, type, value, encoding }) => [
      path.slice(folder.length + 1),
      describeBytes(type, Buffer.from(value, encoding)),
    ]),
  );
}

type Exported = readonly (readonly [GeneratedFile, string])[];

/** Skips values with a carriage return: sh has no escape for it. */
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
  const values = exported.flatMap(([{ secrets: expectedSecrets }], index) => {
    const read = new Map(readings[index]?.split("\0").map((line) => splitAtEquals(line)));
    return [...expectedSecrets].filter(([name, value]) => {
      const expected = textOf(value);
      if (expected.includes("\r")) return false;
      expect([name, read.get(name)]).toEqual([name, expected]);
      return true;
    });
  });
  return { values: values.length };
}

/**
 * Skips values that python-dotenv parses differently from sh: a trailing backslash escapes the closing quote, two
 * backslashes in single quotes become one, and in double quotes a backslash before `$` or a backtick is kept.
 */
async function compareWithPython(exported: Exported): Promise<{ readonly values: number }> {
  await using folder = await makeTemporaryFolder("dotenv");
  const comparable = exported.filter(
    ([{ secrets: expectedSecrets }]) =>
      ![...expectedSecrets.values()].some((value) => textOf(value).endsWith("\\")),
  );
  const path = join(folder.path, "texts.json");
  await writeFile(path, JSON.stringify(comparable.map(([, content]) => content)));
  const printed = await runPython(fileURLToPath(new URL("fixtures/read-dotenv.py", import.meta.url)), [path]);
  // The fixture prints one object per file.
  const readings = JSON.parse(printed) as Record<string, string>[];
  const values = comparable.flatMap(([{ secrets: expectedSecrets }], index) =>
    [...expectedSecrets].filter(([name, value]) => {
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

function splitAtEquals(line: string): [string, string] {
  const at = line.indexOf("=");
  return [line.slice(0, at), line.slice(at + 1)];
}
