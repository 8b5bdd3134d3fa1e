import { afterAll, beforeAll, expect, test } from "vitest";
import { everyScope, openVault, startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";

let shared: TestKeep;
beforeAll(async () => {
  shared = await startUnlimitedKeep();
});
afterAll(() => shared[Symbol.asyncDispose]());

test("folders are created, listed, moved with their contents, and deleted", async () => {
  await using keep = await openVault(shared);
  expect((await keep.json("POST", "/folders", { path: "/a/b" }))[0]).toBe(201);
  expect((await keep.json("POST", "/folders", { path: "/a/b" }))[0]).toBe(200);
  const first = await keep.write("/a/b/X", "1");
  const deep = await keep.write("/a/b/b/X", "2");
  const pathsOf = async (query: string) =>
    (await keep.json("GET", `/folders${query}`))[1].items.map(({ path }) => path);
  expect(await pathsOf("")).toEqual(["/a"]);
  expect(await pathsOf("?recursive=true")).toEqual(["/a", "/a/b", "/a/b/b"]);
  expect(await pathsOf("?path=/a")).toEqual(["/a/b"]);
  expect(await keep.json("POST", "/folders/move", { from: "/a/b", to: "/a" })).toEqual([
    200,
    { secrets: 2, revision: expect.any(Number) },
  ]);
  expect((await keep.json("GET", "/values/by-path/a/X"))[1]).toMatchObject({ id: first.id, value: "1" });
  expect((await keep.json("GET", "/values/by-path/a/b/X"))[1]).toMatchObject({ id: deep.id, value: "2" });
  expect(await keep.json("POST", "/folders/move", { from: "/a", to: "/a/c" })).toMatchObject([409, {}]);
  expect(await keep.json("POST", "/folders/move", { from: "/none", to: "/c" })).toMatchObject([404, {}]);
  await keep.write("/c/X", "taken");
  expect((await keep.json("POST", "/folders/move", { from: "/a", to: "/c" }))[0]).toBe(409);
  expect((await keep.json("POST", "/folders/move", { from: "/a", to: "/new/deep" }))[0]).toBe(200);
  expect(await pathsOf("?recursive=true")).toEqual(["/c", "/new", "/new/deep", "/new/deep/b"]);
  expect((await keep.json("DELETE", "/folders?path=/new"))[0]).toBe(409);
  expect((await keep.json("DELETE", "/folders?path=/"))[0]).toBe(409);
  expect(await keep.json("DELETE", "/folders?path=/new&recursive=true")).toMatchObject([200, { secrets: 2 }]);
  expect((await keep.json("DELETE", "/folders?path=/new&recursive=true"))[0]).toBe(404);
  expect((await keep.json("POST", `/secrets/${first.id}/restore`))[0]).toBe(200);
  expect((await keep.json("GET", "/values/by-path/new/deep/X"))[1]).toMatchObject({ value: "1" });
  expect(await pathsOf("?recursive=true")).toEqual(["/c", "/new", "/new/deep"]);
});

test("a token with paths lists the folders above them, and changes only folders entirely within them", async () => {
  await using keep = await openVault(shared);
  for (const path of ["/prod/eu/A", "/prod/us/B", "/test/C"]) await keep.write(path, "x");
  const limited = await keep.addToken({ scopes: everyScope, paths: ["/prod/eu/**"] });
  const [, seen] = await keep.as(limited).json("GET", "/folders?recursive=true");
  expect(seen.items.map(({ path }) => path)).toEqual(["/prod", "/prod/eu"]);
  const statusOf = async (method: string, path: string, body?: unknown) =>
    (await keep.as(limited).json(method, path, body))[0];
  expect(await statusOf("POST", "/folders", { path: "/prod" })).toBe(403);
  expect(await statusOf("POST", "/folders", { path: "/prod/eu/x" })).toBe(201);
  expect(await statusOf("DELETE", "/folders?path=/prod&recursive=true")).toBe(403);
  expect(await statusOf("POST", "/folders/move", { from: "/prod/eu", to: "/test" })).toBe(403);
  expect(await statusOf("POST", "/folders/move", { from: "/test", to: "/prod/eu/x" })).toBe(403);
  expect(await statusOf("POST", "/folders/move", { from: "/prod/eu/x", to: "/prod/eu/y" })).toBe(200);
});
