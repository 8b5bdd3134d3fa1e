/**
 * @module
 * Stores for tests: empty ones, and the store that a real Ollama left, with its times.
 * The weights in it are not kept with the recording, so SmolLM2 as it came lies in their place: same size, same header.
 * Imported by the tests of `models/` only.
 */
import { execFile } from "node:child_process";
import { copyFile, link, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { makeTemporaryFolder, type TemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { type ModelStore, openModelStore } from "../store/model-store.ts";

export type TestStore = TemporaryFolder & { readonly store: ModelStore };

/** Asked for once, because each time the whole file is hashed. */
const weights = testModel("smollm2-135m-instruct-q4_1.gguf");

type RecordedFile = { readonly size: number; readonly content?: string };

export async function makeStore(access: ModelStore["access"] = "own"): Promise<TestStore> {
  const folder = await makeTemporaryFolder("models");
  return { ...folder, store: await openModelStore(folder.path, access) };
}

export async function makeRecordedStore(access: ModelStore["access"] = "own"): Promise<TestStore> {
  const made = await makeStore(access);
  for (const [path, { content }] of Object.entries(
    await readFixture<Record<string, RecordedFile>>("ollama-store"),
  )) {
    const place = join(made.path, path);
    await mkdir(dirname(place), { recursive: true });
    if (content === undefined) await linkOrCopy(await weights, place);
    else await writeFile(place, content);
  }
  const { tags } = await readFixture<RecordedAnswers>("ollama-answers");
  const [latest, small] = tags.models.map((model) => model["modified_at"]);
  await touch(join(made.path, "manifests/registry.ollama.ai/library/smol/latest"), String(latest));
  await touch(join(made.path, "manifests/registry.ollama.ai/team/smol/small"), String(small));
  return made;
}

type Fields = Record<string, unknown>;
export type RecordedAnswers = {
  readonly tags: { readonly models: readonly Fields[] };
  readonly show: Fields;
  readonly showWithLayers: Fields;
  readonly createWithEverything: Fields;
};

export async function readFixture<Content>(name: "ollama-store" | "ollama-answers"): Promise<Content> {
  // Fixtures are committed with the tests that read them.
  return JSON.parse(await readFile(new URL(`../fixtures/${name}.json`, import.meta.url), "utf8")) as Content;
}

/** Every file below a folder, sorted. */
export async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .toSorted();
}

/** Weights of a test store are those of all tests, so nobody writes into them. */
export async function linkOrCopy(file: string, place: string): Promise<void> {
  await link(file, place).catch(() => copyFile(file, place));
}

/** Node's own call rounds the nanoseconds. */
async function touch(path: string, time: string): Promise<void> {
  await promisify(execFile)("touch", ["-d", time, path]);
}
