import { chmod, mkdir, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { openResponseStore } from "./open-response-store.ts";
import type { ResponseStore, StoreLimits } from "./response-store.ts";
import type { StoredRecord } from "./stored-record.ts";
import { findInClear, readStoredFiles } from "./test/stored-files.ts";

const limits: StoreLimits = {
  maxResponses: 100,
  maxBytes: 1_000_000,
  maxTotalBytes: 10_000_000,
  idleSeconds: 60,
};

const secretText = "the harbour is closed — 港は閉鎖";

const record = (id: string, text = secretText): StoredRecord => ({
  id,
  head: `{"model":"${text}"}`,
  input: [{ id: `in_${id}`, text }],
  output: [{ id: `out_${id}`, text }],
});

type Opened = { readonly store: ResponseStore; readonly skipped: readonly string[] };

class Machine {
  readonly folder: string;
  readonly keyFile: string;

  constructor(path: string) {
    this.folder = join(path, "responses");
    this.keyFile = join(path, "home", "response.key");
  }

  /** A new process: it knows what the folder has and nothing else. */
  async start(changes: Partial<StoreLimits> = {}): Promise<Opened> {
    const skipped: string[] = [];
    const { folder, keyFile } = this;
    const onSkip = (name: string) => void skipped.push(name);
    return {
      store: await openResponseStore({ ...limits, ...changes }, { folder, keyFile, onSkip }),
      skipped,
    };
  }

  async fileNames(): Promise<readonly string[]> {
    return (await readStoredFiles(this.folder)).map(({ name }) => name);
  }
}

function secondsAgo(seconds: number): Date {
  return new Date(Date.now() - seconds * 1000);
}

async function save(store: ResponseStore, keyName: string, saved: StoredRecord): Promise<void> {
  expect(store.forKey(keyName).save(saved)).toBe(true);
  await store.forKey(keyName).flush();
}

test("a saved record is found by the next process, by its own key only", async () => {
  await using temporary = await makeTemporaryFolder("stored-responses");
  const machine = new Machine(temporary.path);
  const first = await machine.start();
  await save(first.store, "alice", record("1"));
  await save(first.store, "alice", record("2"));
  await save(first.store, "alice", record("2", "changed"));
  const { store, skipped } = await machine.start();
  expect(store.forKey("alice").find("1")).toEqual(record("1"));
  expect(store.forKey("alice").find("2")).toEqual(record("2", "changed"));
  expect(store.forKey("alice").findItem("out_1")).toEqual({ id: "out_1", text: secretText });
  expect(store.forKey("bob").find("1")).toBeUndefined();
  expect([store.bytes, skipped]).toEqual([first.store.bytes, []]);
});

test("a deleted record does not come back", async () => {
  await using temporary = await makeTemporaryFolder("stored-responses");
  const machine = new Machine(temporary.path);
  const first = await machine.start();
  await save(first.store, "alice", record("1"));
  first.store.forKey("alice").delete("1");
  await first.store.forKey("alice").flush();
  expect(await machine.fileNames()).toEqual([]);
  expect((await machine.start()).store.bytes).toBe(0);
});

test("no file has a text, an id or the name of a key in clear, and only the owner can read the files", async () => {
  await using temporary = await makeTemporaryFolder("stored-responses");
  const machine = new Machine(temporary.path);
  const { store } = await machine.start();
  await save(store, "alice-laptop", record("resp_0123456789"));
  const files = await readStoredFiles(temporary.path);
  const texts = [secretText, "harbour is", "resp_0123456789", "alice-laptop"];
  expect(findInClear(files, texts)).toEqual([]);
  const leaked = [...files, { name: "leak", content: Buffer.from(JSON.stringify(record("1"))) }];
  expect(findInClear(leaked, texts)).toEqual(["leak"]);
  const [name = ""] = await machine.fileNames();
  for (const path of [machine.keyFile, join(machine.folder, name)]) {
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  }
  expect((await stat(machine.folder)).mode & 0o777).toBe(0o700);
});

test("damaged, renamed and foreign files are skipped by name and left alone; the others are read", async () => {
  await using temporary = await makeTemporaryFolder("stored-responses");
  const machine = new Machine(temporary.path);
  const { store } = await machine.start();
  for (const id of ["1", "2", "3", "4"]) await save(store, "alice", record(id));
  const [flipped, cut, moved] = await readStoredFiles(machine.folder);
  if (flipped === undefined || cut === undefined || moved === undefined) throw new Error("Files are missing");
  flipped.content[20] = (flipped.content[20] ?? 0) ^ 1;
  const pathOf = (name: string) => join(machine.folder, name);
  await writeFile(pathOf(flipped.name), flipped.content);
  await writeFile(pathOf(cut.name), cut.content.subarray(0, 10));
  const otherName = `${"a".repeat(64)}.sealed`;
  await rename(pathOf(moved.name), pathOf(otherName));
  await writeFile(pathOf("notes.txt"), "mine");
  await mkdir(pathOf("folder"));
  await symlink("/etc/passwd", pathOf(`${"b".repeat(64)}.sealed`));
  const next = await machine.start();
  const expected = [flipped.name, cut.name, otherName, "notes.txt", "folder", `${"b".repeat(64)}.sealed`];
  expect(next.skipped.toSorted()).toEqual(expected.toSorted());
  const found = ["1", "2", "3", "4"].filter((id) => next.store.forKey("alice").find(id) !== undefined);
  expect(found).toHaveLength(1);
  expect((await machine.start()).skipped).toHaveLength(expected.length);
});

test("a file that a crash left half-written is removed", async () => {
  await using temporary = await makeTemporaryFolder("stored-responses");
  const machine = new Machine(temporary.path);
  await machine.start();
  await writeFile(join(machine.folder, `${"a".repeat(64)}.sealed.1.part`), "half");
  expect((await machine.start()).skipped).toEqual([]);
  expect(await machine.fileNames()).toEqual([]);
});

test("memory and disk stay within the limits of each key and of all keys together, also after a restart", async () => {
  await using temporary = await makeTemporaryFolder("stored-responses");
  const machine = new Machine(temporary.path);
  const small = { maxResponses: 20, maxBytes: 60_000, maxTotalBytes: 150_000 };
  const { store } = await machine.start(small);
  const keys = ["k0", "k1", "k2", "k3", "k4"];
  let largest = { memory: 0, disk: 0 };
  for (let turn = 0; turn < 40; turn += 1) {
    for (const key of keys) store.forKey(key).save(record(`${key}-${turn}`, "x".repeat(turn * 100)));
    await store.forKey("k0").flush();
    const files = await readStoredFiles(machine.folder);
    const bytes = files.reduce((sum, { content }) => sum + content.length, 0);
    expect([store.bytes <= small.maxTotalBytes, bytes <= store.bytes]).toEqual([true, true]);
    largest = { memory: Math.max(largest.memory, store.bytes), disk: Math.max(largest.disk, bytes) };
  }
  recordFigure({
    claim: "agents 5",
    text: `at most ${largest.memory} of ${small.maxTotalBytes} bytes in memory and ${largest.disk} on disk, 5 keys with 40 turns each`,
  });
  const { store: restarted } = await machine.start(small);
  expect(restarted.bytes).toBe(store.bytes);
  const lowered = await machine.start({ ...small, maxResponses: 1 });
  expect(await machine.fileNames()).toHaveLength(keys.length);
  expect(keys.filter((key) => lowered.store.forKey(key).find(`${key}-39`) !== undefined)).toEqual(keys);
});

test("a record that was not used for the idle time is deleted from disk, and a use counts across restarts", async () => {
  await using temporary = await makeTemporaryFolder("stored-responses");
  const machine = new Machine(temporary.path);
  const { store } = await machine.start();
  await save(store, "alice", record("1"));
  const [name = ""] = await machine.fileNames();
  const path = join(machine.folder, name);
  await utimes(path, secondsAgo(50), secondsAgo(50));
  const used = await machine.start();
  expect(used.store.forKey("alice").find("1")).toBeDefined();
  await expect.poll(async () => (await stat(path)).mtime.getTime()).toBeGreaterThan(Date.now() - 30_000);
  await utimes(path, secondsAgo(61), secondsAgo(61));
  expect((await machine.start()).store.bytes).toBe(0);
  expect(await machine.fileNames()).toEqual([]);
});

test("a change that cannot be written is an error, and is written once the folder is usable again", async () => {
  await using temporary = await makeTemporaryFolder("stored-responses");
  const machine = new Machine(temporary.path);
  const { store } = await machine.start();
  const records = store.forKey("alice");
  await rm(machine.folder, { recursive: true });
  await writeFile(machine.folder, "not a folder");
  records.save(record("1"));
  await expect(records.flush()).rejects.toMatchObject({
    failure: { kind: "response-not-stored", reason: "part of the path is a file, not a folder" },
  });
  await rm(machine.folder);
  await save(store, "alice", record("2"));
  const { store: restarted } = await machine.start();
  expect([restarted.forKey("alice").find("1"), restarted.forKey("alice").find("2")]).toEqual([
    record("1"),
    record("2"),
  ]);
});

test("the machine key is created once, and one that is damaged or readable by others is refused", async () => {
  await using temporary = await makeTemporaryFolder("stored-responses");
  const machine = new Machine(temporary.path);
  const [first] = await Promise.all([machine.start(), machine.start(), machine.start()]);
  await save(first.store, "alice", record("1"));
  expect((await machine.start()).skipped).toEqual([]);
  await chmod(machine.keyFile, 0o644);
  await expect(machine.start()).rejects.toThrow("other users can read the key file");
  await chmod(machine.keyFile, 0o600);
  await writeFile(machine.keyFile, "short");
  await expect(machine.start()).rejects.toThrow("is damaged");
});
