import { afterAll, beforeAll, expect, test } from "vitest";
import { everyScope, openVault, startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";

let shared: TestKeep;
beforeAll(async () => {
  shared = await startUnlimitedKeep();
});
afterAll(() => shared[Symbol.asyncDispose]());

test("in a new vault a write beyond the limit destroys the oldest version, and records it", async () => {
  await using keep = await openVault(shared);
  expect((await keep.json("PATCH", "", { most_versions: 3 }))[1]).toMatchObject({
    when_versions_full: "destroy-oldest",
  });
  const { id } = await keep.write("/A", "1");
  for (const value of ["2", "3", "4"]) await keep.write("/A", value);
  const statusOf = async (version: number) =>
    (await keep.json("GET", `/secrets/${id}/value?version=${version}`))[0];
  expect([await statusOf(1), await statusOf(2), await statusOf(4)]).toEqual([404, 200, 200]);
  const [, { items }] = await keep.json("GET", `/secrets/${id}/versions`);
  expect(items.map((item) => [item.version, "destroyed_at" in item])).toEqual([
    [4, false],
    [3, false],
    [2, false],
    [1, true],
  ]);
  const events = (await keep.json("GET", "/audit?type=version-destroyed"))[1].items;
  expect(events).toMatchObject([
    { body: { secret: id, path: "/A", version: 1, by: `token:${keep.token.id}` } },
  ]);
});

test("a vault that refuses keeps every version, and one that prunes again catches up", async () => {
  await using keep = await openVault(shared);
  await keep.json("PATCH", "", { most_versions: 4, when_versions_full: "refuse" });
  const { id } = await keep.write("/A", "1");
  for (const value of ["2", "3", "4"]) await keep.write("/A", value);
  const [status, { code }] = await keep.json("PUT", "/secrets/by-path/A", { value: "5" });
  expect([status, code]).toEqual([409, "versions_full"]);
  expect((await keep.json("GET", `/secrets/${id}/value?version=1`))[0]).toBe(200);
  await keep.json("PATCH", "", { most_versions: 1, when_versions_full: "destroy-oldest" });
  expect(await keep.write("/A", "5")).toMatchObject({ version: 5 });
  const [, { items }] = await keep.json("GET", `/secrets/${id}/versions`);
  expect(items.filter((item) => !("destroyed_at" in item)).map(({ version }) => version)).toEqual([5]);
});

test("only who may destroy can make writes destroy more than before", async () => {
  await using keep = await openVault(shared);
  const scopes = everyScope.filter((scope) => scope !== "secrets:destroy");
  const limited = keep.as(await keep.addToken({ scopes }));
  const statusOf = async (changes: object) => (await limited.json("PATCH", "", changes))[0];
  expect(await statusOf({ most_versions: 99 })).toBe(403);
  expect(await statusOf({ most_versions: 101, name: "Renamed" })).toBe(200);
  expect(await statusOf({ when_versions_full: "refuse", most_versions: 2 })).toBe(200);
  expect(await statusOf({ when_versions_full: "destroy-oldest" })).toBe(403);
  expect((await keep.json("PATCH", "", { when_versions_full: "destroy-oldest" }))[0]).toBe(200);
});

test("reads and restores of old versions beside writes that destroy them see a whole version or none", async () => {
  await using keep = await openVault(shared);
  await keep.json("PATCH", "", { most_versions: 3 });
  const { id } = await keep.write("/A", "value 1");
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, async (_each, index) => {
      const version = Math.ceil((index + 1) / 4);
      if (index % 4 === 0) return (await keep.json("POST", `/secrets/${id}/versions/${version}/restore`))[0];
      if (index % 4 === 1) return (await keep.json("DELETE", `/secrets/${id}/versions/${version}`))[0];
      if (index % 4 === 2)
        return (await keep.json("PUT", "/secrets/by-path/A", { value: `value ${index}` }))[0];
      const [status, { value }] = await keep.json("GET", `/secrets/${id}/value?version=${version}`);
      expect(value ?? "value none").toMatch(/^value /u);
      return status;
    }),
  );
  expect(outcomes.filter((status) => ![200, 204, 404, 409].includes(status))).toEqual([]);
  const [, { items }] = await keep.json("GET", `/secrets/${id}/versions`);
  const kept = items.filter((item) => !("destroyed_at" in item));
  expect([kept.length <= 3, kept[0]?.version]).toEqual([true, items.length]);
  for (const { version } of kept) {
    expect((await keep.json("GET", `/secrets/${id}/value?version=${version}`))[0]).toBe(200);
  }
});
