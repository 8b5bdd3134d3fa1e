import { chmod, chown, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { isClientFailure } from "./client-failure.ts";
import { folderOf } from "./open-context.ts";
import { findProjectFile, formatProjectFile, projectFileName } from "./project-file.ts";

const vault = "0198c0de-7c1a-7f00-8000-5a1e5a1e5a1e";

test("the nearest file applies, and what is written is read back", async () => {
  await using folder = await makeTemporaryFolder("keep-project");
  const inner = join(folder.path, "packages/api");
  await mkdir(join(inner, "src"), { recursive: true });
  const settings = {
    server: "https://keep.example",
    vault,
    folder: "/api",
    environment: "dev",
    inherit: true,
  };
  await writeFile(join(folder.path, projectFileName), formatProjectFile(settings));
  expect(await findProjectFile(join(inner, "src"))).toEqual({
    file: join(folder.path, projectFileName),
    settings,
  });
  await writeFile(join(inner, projectFileName), 'folder = "/inner"\n');
  expect((await findProjectFile(join(inner, "src")))?.settings).toEqual({ folder: "/inner" });
});

test.each([
  ['token = "x"', '"token" is no setting'],
  ['vault = "personal"', '"vault" must be the id of a vault'],
  ['folder = "api"', '"folder" must be a path'],
  ['environment = "a/b"', '"environment" must be the name'],
  ["inherit = 1", '"inherit" must be true or false'],
  ["= x", "it is not TOML"],
  [`a = ${"[".repeat(30_000)}`, "it is not TOML"],
])("%s is refused: %s", async (text, reason) => {
  await using folder = await makeTemporaryFolder("keep-project");
  await writeFile(join(folder.path, projectFileName), text);
  const error: unknown = await findProjectFile(folder.path).catch((thrown: unknown) => thrown);
  expect(isClientFailure(error, "project-file-invalid") ? error.failure.reason : error).toContain(reason);
});

/** Why the project file cannot be used. */
async function refusal(folder: string): Promise<unknown> {
  const error: unknown = await findProjectFile(folder).catch((thrown: unknown) => thrown);
  return isClientFailure(error, "file-unusable") ? error.failure.reason : error;
}

test("a project file that is too large, or a link to a device that never ends, is refused", async () => {
  await using folder = await makeTemporaryFolder("keep-project");
  const inner = join(folder.path, "inner");
  await mkdir(inner);
  await writeFile(join(folder.path, projectFileName), `# ${"x".repeat(70_000)}`);
  expect(await refusal(folder.path)).toBe("it is too large");
  await symlink("/dev/zero", join(inner, projectFileName));
  expect(await refusal(inner)).toBe("it is not a file");
});

test("a project file that another user put into a folder of everybody is refused, an own one is used", async (context) => {
  await using folder = await makeTemporaryFolder("keep-project");
  const file = join(folder.path, projectFileName);
  await chmod(folder.path, 0o777);
  await writeFile(file, 'folder = "/app"\n');
  expect((await findProjectFile(folder.path))?.settings).toEqual({ folder: "/app" });
  // Only the administrator can give a file away.
  if (process.getuid?.() !== 0) return context.skip();
  await chown(file, 65_534, 65_534);
  expect(await refusal(folder.path)).toBe("it belongs to another user");
});

test.each([
  [undefined, undefined, "/"],
  [undefined, "/api", "/api"],
  ["dev", undefined, "/dev"],
  ["dev", "api/", "/dev/api"],
])("the environment %s and the folder %s are %s", (environment, folder, path) => {
  expect(folderOf(environment, folder)).toBe(path);
});

test.each([
  ["dev", "../prod"],
  ["..", "/"],
  ["dev/../prod", "/"],
])("the environment %s and the folder %s are refused", (environment, folder) => {
  expect(() => folderOf(environment, folder)).toThrow("usage-error");
});
