/**
 * @module
 * Stores for tests: empty ones, and one recorded from a real Ollama with its modification times.
 * The recording does not include the weights; SmolLM2's original file, with the same size and header, replaces them.
 * Imported by the tests of this program.
 */
import { execFile } from "node:child_process";
import { copyFile, link, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { makeTemporaryFolder, type TemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { type ModelStore, openModelStore } from "../store/model-store.ts";

export type TestStore = TemporaryFolder & { readonly store: ModelStore };

/** Requested once, because every call hashes the whole file. */
const weights = testModel("smollm2-135m-instruct-q4_1.gguf");

type RecordedFile = { readonly size: number; readonly content?: string };

export async function createTestStore(access: ModelStore["access"] = "own"): Promise<TestStore> {
  const folder = await makeTemporaryFolder("models");
  return { ...folder, store: await openModelStore(folder.path, access) };
}

export async function createRecordedStore(access: ModelStore["access"] = "own"): Promise<TestStore> {
  const created = await createTestStore(access);
  for (const [path, { content }] of Object.entries(
    await readFixture<Record<string, RecordedFile>>("ollama-store"),
  )) {
    const target = join(created.path, path);
    await mkdir(dirname(target), { recursive: true });
    if (content === undefined) await linkOrCopy(await weights, target);
    else await writeFile(target, content);
  }
  const { tags } = await readFixture<RecordedResponses>("ollama-responses");
  const [latest, small] = tags.models.map((model) => model["modified_at"]);
  await touch(join(created.path, "manifests/registry.ollama.ai/library/smol/latest"), String(latest));
  await touch(join(created.path, "manifests/registry.ollama.ai/team/smol/small"), String(small));
  return created;
}

type Fields = Record<string, unknown>;
export type RecordedResponses = {
  readonly tags: { readonly models: readonly Fields[] };
  readonly show: Fields;
  readonly showWithLayers: Fields;
  readonly createWithEverything: Fields;
};

export async function readFixture<Content>(name: "ollama-store" | "ollama-responses"): Promise<Content> {
  // Fixtures are committed together with the tests that read them.
  return JSON.parse(await readFile(new URL(`../fixtures/${name}.json`, import.meta.url), "utf8")) as Content;
}

/** Every file of a store but its locks, sorted. */
export async function listFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory() && !entry.parentPath.endsWith("/locks"))
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .toSorted();
}

/** All test stores share the same file, so tests must not write to it. */
export async function linkOrCopy(file: string, target: string): Promise<void> {
  await link(file, target).catch(() => copyFile(file, target));
}

/** Node's utimes rounds nanoseconds. */
async function touch(path: string, time: string): Promise<void> {
  await promisify(execFile)("touch", ["-d", time, path]);
}
