import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isJudgedLoosely } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { builtIn, findEngines } from "./find-engines.ts";

async function putProgram(folder: string, name: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, name);
  await writeFile(path, "#!/bin/sh\nexit 1\n");
  await chmod(path, 0o755);
  return path;
}

test("a machine without other engines has the built-in one, and looking costs nothing", () => {
  const looks = Array.from({ length: 9 }, () => {
    const startedAt = performance.now();
    expect(findEngines({ folder: "/nowhere/at/all", searchPath: ["/nowhere"] })).toEqual([builtIn]);
    return performance.now() - startedAt;
  });
  expect(Math.min(...looks)).toBeLessThan(isJudgedLoosely ? 50 : 5);
});

test("llama-server is found on the PATH, in its order, and only where it can be run", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const searchPath = ["first", "second", "third"].map((name) => join(folder.path, name));
  const [first = "", second = "", third = ""] = searchPath;
  await chmod(await putProgram(first, "llama-server"), 0o644);
  const path = await putProgram(second, "llama-server");
  await putProgram(third, "llama-server");
  expect(findEngines({ folder: folder.path, searchPath })).toEqual([builtIn, { kind: "llama-server", path }]);
});

test("a llama-server that was named is taken or missed, never replaced by another", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const named = await putProgram(join(folder.path, "named"), "my-server");
  const onPath = join(folder.path, "on-path");
  await putProgram(onPath, "llama-server");
  const places = { folder: folder.path, searchPath: [onPath] };
  expect(findEngines({ ...places, llamaServer: named })).toContainEqual({
    kind: "llama-server",
    path: named,
  });
  expect(findEngines({ ...places, llamaServer: `${named}-gone` })).toEqual([builtIn]);
});

test("of several environments and builds the newest counts, and an unfinished one does not", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const environments = ["xllamacpp-2026.9.1", "xllamacpp-2026.10.11549", "unfinished-xllamacpp-77"];
  for (const name of environments) await putProgram(join(folder.path, name, "bin"), "python");
  for (const name of ["binding-3.9.0", "binding-3.22.1", "unfinished-binding-77"]) {
    await mkdir(join(folder.path, name));
  }
  const newest = join(folder.path, "xllamacpp-2026.10.11549", "bin", "python");
  expect(findEngines({ folder: folder.path, searchPath: [] })).toEqual([
    builtIn,
    { kind: "binding", buildFolder: join(folder.path, "binding-3.22.1") },
    { kind: "xllamacpp", interpreter: newest, version: "2026.10.11549" },
  ]);
});

test("an environment whose Python is gone is none", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const programs = join(folder.path, "xllamacpp-2026.10.11549", "bin");
  await mkdir(programs, { recursive: true });
  await symlink("/nowhere/python3", join(programs, "python"));
  expect(findEngines({ folder: folder.path, searchPath: [] })).toEqual([builtIn]);
});
