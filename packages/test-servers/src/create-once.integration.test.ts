import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createOnce } from "./create-once.ts";
import { startProcess } from "./owned-process.ts";
import { makeTemporaryFolder } from "./temporary-folder.ts";

const fill = (folder: string): Promise<void> => writeFile(join(folder, "content"), "complete");

test("concurrent callers get one folder, created once", async () => {
  await using cache = await makeTemporaryFolder("create-once");
  let creations = 0;
  const requested = Array.from({ length: 8 }, () =>
    createOnce({
      path: join(cache.path, "thing"),
      create: async (folder) => {
        creations += 1;
        await new Promise((resolve) => setTimeout(resolve, 200));
        await fill(folder);
      },
    }),
  );
  expect(new Set(await Promise.all(requested))).toEqual(new Set([join(cache.path, "thing")]));
  expect(creations).toBe(1);
  expect(await readdir(cache.path)).toEqual(["thing"]);
});

test("a failed creation leaves nothing behind, and the next caller creates the folder", async () => {
  await using cache = await makeTemporaryFolder("create-once");
  const path = join(cache.path, "thing");
  const failing = createOnce({
    path,
    create: async (folder) => {
      await fill(folder);
      throw new Error("Cannot reach the registry");
    },
  });
  await expect(failing).rejects.toThrow("Cannot reach the registry");
  expect(await readdir(cache.path)).toEqual([]);
  expect(await readdir(await createOnce({ path, create: fill }))).toEqual(["content"]);
});

test("a killed run leaves no folder that counts as complete, and its lock blocks no other run", async () => {
  await using cache = await makeTemporaryFolder("create-once");
  const path = join(cache.path, "thing");
  await using creator = await startCreator(path);
  expect(await readdir(cache.path)).toContain("thing.lock");
  expect(await readdir(cache.path)).not.toContain("thing");
  process.kill(creator.pid, "SIGKILL");
  await creator.exited;
  await createOnce({ path, create: fill });
  expect(await readFile(join(path, "content"), "utf8")).toBe("complete");
  expect(await readdir(cache.path)).not.toContain("thing.lock");
});

test("callers wait for a folder that another live run is creating", async () => {
  await using cache = await makeTemporaryFolder("create-once");
  const path = join(cache.path, "thing");
  await using creator = await startCreator(path);
  let isCreatedHere = false;
  const requested = createOnce({
    path,
    create: async () => {
      isCreatedHere = true;
    },
  });
  await new Promise((resolve) => setTimeout(resolve, 500));
  await writeFile(join(cache.path, "go"), "");
  expect(await readFile(join(await requested, "content"), "utf8")).toBe("created by the other run");
  expect(isCreatedHere).toBe(false);
  await creator.exited;
});

test("old unfinished folders are removed, recent ones are not", async () => {
  await using cache = await makeTemporaryFolder("create-once");
  for (const name of ["thing.unfinished-old", "thing.unfinished-new"]) await mkdir(join(cache.path, name));
  const hourAgo = new Date(Date.now() - 3_600_000);
  await utimes(join(cache.path, "thing.unfinished-old"), hourAgo, hourAgo);
  await createOnce({ path: join(cache.path, "thing"), create: fill });
  expect((await readdir(cache.path)).toSorted()).toEqual(["thing", "thing.unfinished-new"]);
});

/** Another process that has begun to create the folder, and finishes when a file named "go" appears. */
async function startCreator(path: string): ReturnType<typeof startProcess> {
  const script = fileURLToPath(new URL("fixtures/make-slowly.ts", import.meta.url));
  return startProcess({
    command: process.execPath,
    arguments: [script, path],
    isReady: (output) => output.includes("creating"),
  });
}
