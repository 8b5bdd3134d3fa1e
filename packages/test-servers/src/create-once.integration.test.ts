import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { makeOnce } from "./create-once.ts";
import { startProcess } from "./owned-process.ts";
import { makeTemporaryFolder } from "./temporary-folder.ts";

const fill = (folder: string): Promise<void> => writeFile(join(folder, "content"), "whole");

test("many askers at once get one folder, made once", async () => {
  await using cache = await makeTemporaryFolder("make-once");
  let makings = 0;
  const asked = Array.from({ length: 8 }, () =>
    makeOnce({
      path: join(cache.path, "thing"),
      make: async (folder) => {
        makings += 1;
        await new Promise((resolve) => setTimeout(resolve, 200));
        await fill(folder);
      },
    }),
  );
  expect(new Set(await Promise.all(asked))).toEqual(new Set([join(cache.path, "thing")]));
  expect(makings).toBe(1);
  expect(await readdir(cache.path)).toEqual(["thing"]);
});

test("a making that fails leaves nothing, and the next asker makes the folder", async () => {
  await using cache = await makeTemporaryFolder("make-once");
  const path = join(cache.path, "thing");
  const failing = makeOnce({
    path,
    make: async (folder) => {
      await fill(folder);
      throw new Error("Cannot reach the registry");
    },
  });
  await expect(failing).rejects.toThrow("Cannot reach the registry");
  expect(await readdir(cache.path)).toEqual([]);
  expect(await readdir(await makeOnce({ path, make: fill }))).toEqual(["content"]);
});

test("a run killed half-way leaves no folder that counts as whole, and its lock holds nobody up", async () => {
  await using cache = await makeTemporaryFolder("make-once");
  const path = join(cache.path, "thing");
  await using maker = await startMaker(path);
  expect(await readdir(cache.path)).toContain("thing.lock");
  expect(await readdir(cache.path)).not.toContain("thing");
  process.kill(maker.pid, "SIGKILL");
  await maker.exited;
  await makeOnce({ path, make: fill });
  expect(await readFile(join(path, "content"), "utf8")).toBe("whole");
  expect(await readdir(cache.path)).not.toContain("thing.lock");
});

test("a folder that another living run is making is waited for", async () => {
  await using cache = await makeTemporaryFolder("make-once");
  const path = join(cache.path, "thing");
  await using maker = await startMaker(path);
  let isMadeHere = false;
  const asked = makeOnce({
    path,
    make: async () => {
      isMadeHere = true;
    },
  });
  await new Promise((resolve) => setTimeout(resolve, 500));
  await writeFile(join(cache.path, "go"), "");
  expect(await readFile(join(await asked, "content"), "utf8")).toBe("made by the other run");
  expect(isMadeHere).toBe(false);
  await maker.exited;
});

test("unfinished folders of long ago are removed, those of a moment ago are not", async () => {
  await using cache = await makeTemporaryFolder("make-once");
  for (const name of ["thing.unfinished-old", "thing.unfinished-new"]) await mkdir(join(cache.path, name));
  const hourAgo = new Date(Date.now() - 3_600_000);
  await utimes(join(cache.path, "thing.unfinished-old"), hourAgo, hourAgo);
  await makeOnce({ path: join(cache.path, "thing"), make: fill });
  expect((await readdir(cache.path)).toSorted()).toEqual(["thing", "thing.unfinished-new"]);
});

/** Another process that has begun to make the folder, and ends it when a file named "go" appears. */
async function startMaker(path: string): ReturnType<typeof startProcess> {
  const script = fileURLToPath(new URL("fixtures/make-slowly.ts", import.meta.url));
  return startProcess({
    command: process.execPath,
    arguments: [script, path],
    isReady: (output) => output.includes("making"),
  });
}
