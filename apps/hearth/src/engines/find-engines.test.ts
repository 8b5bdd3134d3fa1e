import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasLooseTimingBounds } from "@hearth-and-keep/figures";
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

test("without other engines only the built-in one is found, in a few milliseconds", () => {
  const durations = Array.from({ length: 9 }, () => {
    const startedAt = performance.now();
    expect(findEngines({ folder: "/nowhere/at/all", searchPath: ["/nowhere"] })).toEqual([builtIn]);
    return performance.now() - startedAt;
  });
  expect(Math.min(...durations)).toBeLessThan(hasLooseTimingBounds ? 50 : 5);
});

test("the first executable llama-server on the PATH is found", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const searchPath = ["first", "second", "third"].map((name) => join(folder.path, name));
  const [first = "", second = "", third = ""] = searchPath;
  await chmod(await putProgram(first, "llama-server"), 0o644);
  const path = await putProgram(second, "llama-server");
  await putProgram(third, "llama-server");
  expect(findEngines({ folder: folder.path, searchPath })).toEqual([builtIn, { kind: "llama-server", path }]);
});

test("a configured llama-server is never replaced by one on the PATH", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const configured = await putProgram(join(folder.path, "configured"), "my-server");
  const onPath = join(folder.path, "on-path");
  await putProgram(onPath, "llama-server");
  const locations = { folder: folder.path, searchPath: [onPath] };
  expect(findEngines({ ...locations, llamaServer: configured })).toContainEqual({
    kind: "llama-server",
    path: configured,
  });
  expect(findEngines({ ...locations, llamaServer: `${configured}-gone` })).toEqual([builtIn]);
});

test("the newest compiled llama-server comes before the one on the PATH, but not before a configured one", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const onPath = join(folder.path, "on-path");
  const installed = { kind: "llama-server", path: await putProgram(onPath, "llama-server") } as const;
  await putProgram(join(folder.path, "llama-server-3.9.0"), "llama-server");
  const path = await putProgram(join(folder.path, "llama-server-3.22.1"), "llama-server");
  const compiled = { kind: "llama-server", path, isCompiled: true } as const;
  const locations = { folder: folder.path, searchPath: [onPath] };
  expect(findEngines(locations)).toEqual([builtIn, compiled, installed]);
  expect(findEngines({ ...locations, searchPath: [join(folder.path, "llama-server-3.22.1")] })).toEqual([
    builtIn,
    compiled,
  ]);
  expect(findEngines({ ...locations, llamaServer: installed.path })).toEqual([builtIn, installed]);
  await chmod(path, 0o644);
  expect(findEngines(locations)).toEqual([builtIn, installed]);
});

test("the newest environment and build are found, and unfinished ones are not", async () => {
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

test("an environment without its Python is not found", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const programs = join(folder.path, "xllamacpp-2026.10.11549", "bin");
  await mkdir(programs, { recursive: true });
  await symlink("/nowhere/python3", join(programs, "python"));
  expect(findEngines({ folder: folder.path, searchPath: [] })).toEqual([builtIn]);
});
