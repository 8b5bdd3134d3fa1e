import { randomBytes } from "node:crypto";
import { closeSync, fstatSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { readdir, readFile, rename, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StateOwner } from "@hearth-and-keep/llama-engine";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createMemoryCache, openPromptCache } from "./open-prompt-cache.ts";
import type { PromptCache, PromptCacheLimits } from "./prompt-cache.ts";

const mebibyte = 1024 * 1024;
const limits: PromptCacheLimits = { maxBytes: 8 * mebibyte, maxTotalBytes: 64 * mebibyte };
const alice: StateOwner = { partition: "alice", model: "one" };
const bob: StateOwner = { partition: "bob", model: "one" };

/** A conversation of 1000 tokens that shares nothing with those of other numbers. */
function conversation(number: number, length = 1000): readonly number[] {
  return Array.from({ length }, (_none, index) => number * 10_000 + index);
}

/** A machine with its key, and the file that a worker would share. */
class Machine implements Disposable {
  readonly folder: string;
  readonly keyFile: string;
  readonly #sharedPath: string;
  readonly #file: number;

  constructor(path: string) {
    this.folder = join(path, "prompts");
    this.keyFile = join(path, "home", "response.key");
    this.#sharedPath = join(path, "shared");
    this.#file = openSync(this.#sharedPath, "w+");
  }

  /** A new process: it knows what the folder has and nothing else. */
  start(changes: Partial<PromptCacheLimits> = {}): Promise<PromptCache> {
    return openPromptCache({ ...limits, ...changes }, this);
  }

  async keep(cache: PromptCache, owner: StateOwner, tokens: readonly number[]): Promise<Buffer> {
    // Larger than a chunk, and no multiple of it.
    const content = randomBytes(mebibyte + 12_345);
    writeFileSync(this.#sharedPath, content);
    await cache.keep(owner, { tokens, bytes: content.length, file: this.#file });
    return content;
  }

  /** The content that was found; undefined if none was. */
  async find(cache: PromptCache, owner: StateOwner, prompt: readonly number[]): Promise<Buffer | undefined> {
    writeFileSync(this.#sharedPath, "");
    const found = await cache.find(owner, { prompt, cachedTokens: 0, file: this.#file });
    if (found !== undefined) return readFileSync(this.#sharedPath);
    if (fstatSync(this.#file).size > 0) throw new Error("There is a rest of a state that was not found");
    return undefined;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}

test("a state survives a restart, and only its own key and model find it", async () => {
  await using folder = await makeTemporaryFolder("prompts");
  using machine = new Machine(folder.path);
  const tokens = conversation(1);
  const content = await machine.keep(await machine.start(), alice, tokens);
  const cache = await machine.start();
  expect(await machine.find(cache, alice, [...tokens, 5, 6, 7])).toEqual(content);
  expect(await machine.find(cache, bob, tokens)).toBeUndefined();
  expect(await machine.find(cache, { ...alice, model: "two" }, tokens)).toBeUndefined();
  expect(await machine.find(cache, alice, conversation(2))).toBeUndefined();
  const [name = ""] = await readdir(machine.folder);
  expect([
    (await stat(machine.folder)).mode & 0o777,
    (await stat(join(machine.folder, name))).mode & 0o777,
  ]).toEqual([0o700, 0o600]);
});

test("neither names nor content of files show the key, the model, the tokens or the state", async () => {
  await using folder = await makeTemporaryFolder("prompts");
  using machine = new Machine(folder.path);
  const owner = { partition: "alice-of-accounting", model: "model-digest" };
  const tokens = conversation(1);
  const content = await machine.keep(await machine.start(), owner, tokens);
  const [name = ""] = await readdir(machine.folder);
  const file = await readFile(join(machine.folder, name));
  const inTokens = Buffer.from(Uint32Array.from(tokens.slice(0, 4)).buffer);
  const parts = [owner.partition, owner.model, inTokens, content.subarray(0, 16), content.subarray(-16)];
  expect(parts.filter((part) => file.includes(part) || name.includes(part.toString("hex")))).toEqual([]);
});

const damages: Readonly<Record<string, (path: string) => Promise<void>>> = {
  "a changed length": (path) => flip(path, 0),
  "a changed description": (path) => flip(path, 100),
  "a changed state": (path) => flip(path, -500_000),
  "a changed tag": (path) => flip(path, -1),
  "a truncated file": (path) => truncate(path, 600_000),
  "an empty file": (path) => truncate(path, 0),
  "a file that was appended to": (path) => writeFile(path, "more", { flag: "a" }),
  "a file under another name": (path) => rename(path, path.replace(/[^/]{8}\.prompt$/u, "00000000.prompt")),
};

async function flip(path: string, offset: number): Promise<void> {
  const bytes = await readFile(path);
  const index = offset < 0 ? bytes.length + offset : offset;
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

test.each(Object.entries(damages))("%s is not used but deleted", async (_name, damage) => {
  await using folder = await makeTemporaryFolder("prompts");
  using machine = new Machine(folder.path);
  await machine.keep(await machine.start(), alice, conversation(1));
  const [name = ""] = await readdir(machine.folder);
  await damage(join(machine.folder, name));
  expect(await machine.find(await machine.start(), alice, conversation(1))).toBeUndefined();
  expect(await readdir(machine.folder)).toEqual([]);
});

test("a file of another machine is deleted, and files of other programs are left alone", async () => {
  await using folder = await makeTemporaryFolder("prompts");
  using machine = new Machine(folder.path);
  await machine.keep(await machine.start(), alice, conversation(1));
  await writeFile(join(machine.folder, "notes.txt"), "mine");
  await writeFile(join(machine.folder, `${"0".repeat(64)}.prompt.${crypto.randomUUID()}.part`), "incomplete");
  await rm(machine.keyFile);
  expect(await machine.find(await machine.start(), alice, conversation(1))).toBeUndefined();
  expect(await readdir(machine.folder)).toEqual(["notes.txt"]);
});

test("a file that disappears while the server runs is evaluated again", async () => {
  await using folder = await makeTemporaryFolder("prompts");
  using machine = new Machine(folder.path);
  const cache = await machine.start();
  await machine.keep(cache, alice, conversation(1));
  const [name = ""] = await readdir(machine.folder);
  await rm(join(machine.folder, name));
  expect(await machine.find(cache, alice, conversation(1))).toBeUndefined();
});

test("each key keeps its latest states within its limit, and one key does not displace another's", async () => {
  await using folder = await makeTemporaryFolder("prompts");
  using machine = new Machine(folder.path);
  const cache = await machine.start({ maxBytes: 4 * mebibyte });
  await machine.keep(cache, bob, conversation(0));
  for (let number = 1; number <= 6; number += 1) await machine.keep(cache, alice, conversation(number));
  const found: boolean[] = [];
  for (let number = 1; number <= 6; number += 1) {
    found.push((await machine.find(cache, alice, conversation(number))) !== undefined);
  }
  expect(found).toEqual([false, false, false, true, true, true]);
  expect(await machine.find(cache, bob, conversation(0))).toBeDefined();
});

test("if all keys together exceed the limit, the key with the most loses its oldest state", async () => {
  await using folder = await makeTemporaryFolder("prompts");
  using machine = new Machine(folder.path);
  const cache = await machine.start({ maxTotalBytes: 4 * mebibyte });
  await machine.keep(cache, bob, conversation(0));
  for (let number = 1; number <= 4; number += 1) await machine.keep(cache, alice, conversation(number));
  expect(await machine.find(cache, bob, conversation(0))).toBeDefined();
  expect(await readdir(machine.folder)).toHaveLength(3);
});

test("a smaller limit and the age of a file apply at the start", async () => {
  await using folder = await makeTemporaryFolder("prompts");
  using machine = new Machine(folder.path);
  const cache = await machine.start();
  for (let number = 1; number <= 3; number += 1) await machine.keep(cache, alice, conversation(number));
  await machine.start({ maxBytes: 3 * mebibyte });
  const names = await readdir(machine.folder);
  expect(names).toHaveLength(2);
  const longAgo = new Date(Date.now() - 31 * 24 * 3_600_000);
  await utimes(join(machine.folder, names[0] ?? ""), longAgo, longAgo);
  await machine.start();
  expect(await readdir(machine.folder)).toEqual([names[1]]);
});

test("the next turn of a conversation replaces the state of the turn before", async () => {
  await using folder = await makeTemporaryFolder("prompts");
  using machine = new Machine(folder.path);
  const cache = await machine.start();
  await machine.keep(cache, alice, conversation(1));
  const content = await machine.keep(cache, alice, conversation(1, 1500));
  await machine.keep(cache, alice, conversation(1, 1200));
  expect(await readdir(machine.folder)).toHaveLength(1);
  expect(await machine.find(cache, alice, conversation(1, 1600))).toEqual(content);
});

test("a state of which little is of use is not restored", async () => {
  await using folder = await makeTemporaryFolder("prompts");
  using machine = new Machine(folder.path);
  const cache = await machine.start();
  await machine.keep(cache, alice, conversation(1, 8000));
  const beginning = [...conversation(1, 500), ...conversation(2, 500)];
  expect(await machine.find(cache, alice, beginning)).toBeUndefined();
  const half = [...conversation(1, 4000), ...conversation(2, 500)];
  expect(await machine.find(cache, alice, half)).toBeDefined();
});

test("a state above the limit of its key is not written", async () => {
  await using folder = await makeTemporaryFolder("prompts");
  using machine = new Machine(folder.path);
  const cache = await machine.start({ maxBytes: mebibyte });
  await machine.keep(cache, alice, conversation(1));
  expect(await readdir(machine.folder)).toEqual([]);
});

test("in memory, the same limits hold, each key finds its own states only, and nothing is written to disk", async () => {
  await using folder = await makeTemporaryFolder("prompts");
  using machine = new Machine(folder.path);
  const cache = createMemoryCache({ maxBytes: 3 * mebibyte, maxTotalBytes: 3 * mebibyte });
  await machine.keep(cache, alice, conversation(1));
  const second = await machine.keep(cache, alice, conversation(2));
  const third = await machine.keep(cache, bob, conversation(3));
  expect(await machine.find(cache, alice, conversation(1))).toBeUndefined();
  expect(await machine.find(cache, alice, conversation(2))).toEqual(second);
  expect(await machine.find(cache, bob, conversation(2))).toBeUndefined();
  expect(await machine.find(cache, bob, conversation(3))).toEqual(third);
  expect(await readdir(folder.path)).toEqual(["shared"]);
});
