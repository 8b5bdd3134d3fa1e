import { afterAll, beforeAll, expect, test } from "vitest";
import { openVault, startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";

let shared: TestKeep;
beforeAll(async () => {
  shared = await startUnlimitedKeep();
});
afterAll(() => shared[Symbol.asyncDispose]());

test("a secret is changed and deleted by its path as by its id, and recorded in the same way", async () => {
  await using keep = await openVault(shared);
  const { id } = await keep.write("/app/A", "one");
  const changed = await keep.json("PATCH", "/secrets/by-path/app/A", { name: "B", tags: ["t"] });
  expect(changed).toMatchObject([200, { id, path: "/app/B", tags: ["t"] }]);
  expect((await keep.json("PATCH", "/secrets/by-path/app/A", { tags: [] }))[0]).toBe(404);
  expect((await keep.json("DELETE", "/secrets/by-path/app/A"))[0]).toBe(404);
  expect((await keep.json("DELETE", "/secrets/by-path/app/B"))[0]).toBe(204);
  expect((await keep.json("GET", `/secrets/${id}`))[0]).toBe(404);
  // The shape of the events of this test.
  const events = (await keep.json("GET", "/audit?limit=2"))[1].items as unknown as readonly {
    body: object;
  }[];
  expect(events.map(({ body }) => body)).toMatchObject([
    { type: "secret-deleted", secret: id, path: "/app/B" },
    { type: "secret-changed", secret: id, path: "/app/B" },
  ]);
  expect((await keep.json("POST", `/secrets/${id}/restore`))[0]).toBe(200);
});

test("purging by path needs the scope to destroy, and finds only live secrets", async () => {
  await using keep = await openVault(shared);
  const { id } = await keep.write("/A", "one");
  const deleter = keep.as(await keep.addToken({ scopes: ["secrets:delete"] }));
  expect((await deleter.json("DELETE", "/secrets/by-path/A?purge=true"))[0]).toBe(403);
  expect((await deleter.json("DELETE", "/secrets/by-path/A"))[0]).toBe(204);
  expect((await keep.json("DELETE", "/secrets/by-path/A?purge=true"))[0]).toBe(404);
  expect((await keep.json("DELETE", `/secrets/${id}?purge=true`))[0]).toBe(204);
  await keep.write("/A", "two");
  expect((await keep.json("DELETE", "/secrets/by-path/A?purge=true"))[0]).toBe(204);
});

test("changes by path honour preconditions, and a vault can require them", async () => {
  await using keep = await openVault(shared);
  const { revision } = await keep.write("/A", "one");
  const statusOf = async (method: string, tag?: string) => {
    const body = method === "PATCH" ? { body: { tags: ["t"] } } : {};
    const headers = tag === undefined ? {} : { "if-match": tag };
    return (await keep.request(method, "/secrets/by-path/A", { ...body, headers })).status;
  };
  await keep.request("PATCH", "", { body: { demands_preconditions: true } });
  for (const method of ["PATCH", "DELETE"]) {
    expect([method, await statusOf(method)]).toEqual([method, 428]);
    expect([method, await statusOf(method, '"999999"')]).toEqual([method, 412]);
  }
  expect(await statusOf("PATCH", `"${revision}"`)).toBe(200);
  expect(await statusOf("DELETE", "*")).toBe(204);
});

test("a path outside the token's patterns is refused, whether or not a secret is there, and is not moved into", async () => {
  await using keep = await openVault(shared);
  await keep.write("/other/A", "one");
  await keep.write("/app/A", "one");
  const token = keep.as(
    await keep.addToken({ scopes: ["secrets:write", "secrets:delete"], paths: ["/app/**"] }),
  );
  for (const path of ["/other/A", "/other/missing"]) {
    expect((await token.json("PATCH", `/secrets/by-path${path}`, { tags: [] }))[1].code).toBe("out_of_reach");
    expect((await token.json("DELETE", `/secrets/by-path${path}`))[1].code).toBe("out_of_reach");
  }
  expect((await token.json("PATCH", "/secrets/by-path/app/A", { folder: "/other" }))[0]).toBe(403);
  expect((await token.json("PATCH", "/secrets/by-path/app/A", { name: "B" }))[0]).toBe(200);
});

test("of renames and changes of one path at once, each change reaches the secret that was there, or none", async () => {
  await using keep = await openVault(shared);
  const ids = [await keep.write("/A", "a"), await keep.write("/B", "b")].map(({ id }) => id);
  const swap = [
    { op: "move", path: "/A", to: "/C" },
    { op: "move", path: "/B", to: "/A" },
    { op: "move", path: "/C", to: "/B" },
  ];
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_each, index) =>
      index % 2 === 0
        ? keep.json("POST", "/batch", { operations: swap })
        : keep.json("PATCH", "/secrets/by-path/A", { tags: [`t${index}`] }),
    ),
  );
  expect(outcomes.map(([status]) => status)).toEqual(Array(20).fill(200));
  for (const [, { id, path }] of outcomes.filter(([, secret]) => secret.path !== undefined)) {
    expect([path, ids.includes(id)]).toEqual(["/A", true]);
  }
  expect((await keep.json("GET", "/secrets"))[1].items.map(({ path }) => path)).toEqual(["/A", "/B"]);
});

test("no encoding of a path reaches another secret or an invalid name", async () => {
  await using keep = await openVault(shared);
  const { id } = await keep.write("/app/é", "one");
  const statusOf = async (method: string, path: string) =>
    (
      await keep.request(
        method,
        `/secrets/by-path/${path}`,
        method === "PATCH" ? { body: { tags: ["t"] } } : {},
      )
    ).status;
  for (const path of ["app%2f%C3%A9", "app/e%CC%81", "%2fapp/%C3%A9"]) {
    expect([path, await statusOf("PATCH", path)]).toEqual([path, 200]);
  }
  for (const [path, status] of [
    ["app%252f%C3%A9", 404],
    ["app/%25C3%25A9", 404],
    ["app/%C3%A9%00", 422],
    ["app/..%2fapp/%C3%A9", 422],
    ["%2e%2e%2fapp/%C3%A9", 422],
    ["app/%E2%80%AE%C3%A9", 422],
    ["app//%C3%A9", 422],
    ["app/%C3%A9/", 422],
    ["app/%ED%A0%80", 404],
    ["app/%C3", 404],
  ] as const) {
    for (const method of ["PATCH", "DELETE"]) {
      expect([method, path, await statusOf(method, path)]).toEqual([method, path, status]);
    }
  }
  expect((await keep.json("GET", `/secrets/${id}`))[0]).toBe(200);
});
