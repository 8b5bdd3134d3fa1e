import { afterAll, beforeAll, expect, test } from "vitest";
import { openVault, startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";

let shared: TestKeep;
beforeAll(async () => {
  shared = await startUnlimitedKeep();
});
afterAll(() => shared[Symbol.asyncDispose]());

test("a list has the requested order over all its pages", async () => {
  await using keep = await openVault(shared);
  for (const name of ["f/c", "a", "f/b", "d"]) await keep.write(`/${name}`, "one");
  await keep.write("/a", "two");
  await keep.write("/f/c", "two");
  const listAll = async (sort: string): Promise<readonly string[]> => {
    const paths: string[] = [];
    let cursor = "";
    do {
      const [, page] = await keep.json("GET", `/secrets?recursive=true&limit=1&sort=${sort}${cursor}`);
      paths.push(...page.items.map((item) => item.path));
      cursor = page.next_cursor === undefined ? "" : `&cursor=${page.next_cursor}`;
    } while (cursor !== "");
    return paths;
  };
  const orders = {
    name: ["/a", "/d", "/f/b", "/f/c"],
    created: ["/f/c", "/a", "/f/b", "/d"],
    updated: ["/f/b", "/d", "/a", "/f/c"],
  };
  for (const [sort, paths] of Object.entries(orders)) {
    expect([sort, await listAll(sort)]).toEqual([sort, paths]);
    expect([sort, await listAll(`-${sort}`)]).toEqual([sort, paths.toReversed()]);
  }
});

test("secrets that were written in one transaction, so at the same time, are each listed once", async () => {
  await using keep = await openVault(shared);
  const operations = Array.from({ length: 7 }, (_, index) => ({ op: "put", path: `/${index}`, value: "x" }));
  await keep.json("POST", "/batch", { operations });
  for (const sort of ["updated", "-updated", "created", "-created"]) {
    const names: string[] = [];
    let cursor = "";
    do {
      const [, page] = await keep.json("GET", `/secrets?limit=2&sort=${sort}${cursor}`);
      names.push(...page.items.map((item) => item.name));
      cursor = page.next_cursor === undefined ? "" : `&cursor=${page.next_cursor}`;
    } while (cursor !== "");
    expect([sort, names.toSorted()]).toEqual([sort, ["0", "1", "2", "3", "4", "5", "6"]]);
  }
});

test("a cursor of another order, or a forged one, is rejected; deleted secrets have one order only", async () => {
  await using keep = await openVault(shared);
  for (const name of ["a", "b"]) await keep.write(`/${name}`, "one");
  const id = "0198c0de-7c1a-7f00-8000-5a1e5a1e5a1e";
  const forged = [
    ["1; DROP TABLE secret", id, "updated"],
    ["1769847300000000", "x", "updated"],
    ["1769847300000000", id],
    ["1769847300000000"],
    [],
    ["/", "a", "created"],
    ["999999999999999999999", id, "updated"],
  ].map((values) => Buffer.from(JSON.stringify(values)).toString("base64url"));
  const [, byName] = await keep.json("GET", "/secrets?limit=1");
  const [, byCreation] = await keep.json("GET", "/secrets?limit=1&sort=created");
  for (const cursor of [...forged, byName.next_cursor, byCreation.next_cursor])
    expect([cursor, (await keep.json("GET", `/secrets?sort=updated&cursor=${cursor}`))[0]]).toEqual([
      cursor,
      422,
    ]);
  const own = `/secrets?limit=1&sort=created&cursor=${byCreation.next_cursor}`;
  expect((await keep.json("GET", own))[1]).toMatchObject({ items: [{ name: "b" }] });
  expect((await keep.json("GET", "/secrets?state=deleted&sort=name"))[0]).toBe(422);
  expect((await keep.json("GET", "/secrets?state=deleted"))[0]).toBe(200);
  expect((await keep.json("GET", "/secrets?sort=value"))[0]).toBe(422);
});
