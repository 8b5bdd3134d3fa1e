import { afterAll, beforeAll, expect, test } from "vitest";
import { everyScope, openVault, type ResponseBody, startUnlimitedKeep } from "../test/open-vault.ts";
import { resealVaults } from "../test/reseal-vaults.ts";
import type { TestKeep } from "../test/start-test-keep.ts";

let shared: TestKeep;
beforeAll(async () => {
  shared = await startUnlimitedKeep();
});
afterAll(() => shared[Symbol.asyncDispose]());

test("a secret is written, read by id and by path, and listed, with its revision in every response", async () => {
  await using keep = await openVault(shared);
  const written = await keep.request("PUT", "/secrets/by-path/prod/db/PASSWORD", {
    body: { value: "pässword", tags: ["db"], note: "rotate in May" },
  });
  expect([written.status, written.headers.get("etag")]).toEqual([201, '"1"']);
  // The next lines check its shape.
  const metadata = (await written.json()) as ResponseBody;
  expect(metadata).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    folder: "/prod/db",
    name: "PASSWORD",
    path: "/prod/db/PASSWORD",
    type: "text",
    version: 1,
    revision: 1,
    tags: ["db"],
    has_note: true,
    size: 9,
    created_at: expect.stringMatching(/Z$/),
    updated_at: expect.stringMatching(/Z$/),
    updated_by: `token:${keep.token.id}`,
  });
  const value = {
    id: metadata.id,
    path: "/prod/db/PASSWORD",
    version: 1,
    type: "text",
    value: "pässword",
    encoding: "utf8",
    note: "rotate in May",
  };
  const byId = await keep.request("GET", `/secrets/${metadata.id}/value`);
  expect([byId.status, byId.headers.get("cache-control"), await byId.json()]).toEqual([
    200,
    "no-store",
    value,
  ]);
  expect(await keep.json("GET", "/values/by-path/prod/db/PASSWORD")).toEqual([200, value]);
  expect(await keep.json("GET", `/secrets/${metadata.id}`)).toEqual([200, metadata]);
  expect(await keep.json("GET", "/secrets/by-path/prod/db/PASSWORD")).toEqual([200, metadata]);
  expect(await keep.json("GET", "/secrets?recursive=true")).toEqual([200, { items: [metadata] }]);
  expect(await keep.json("GET", "/secrets")).toEqual([200, { items: [] }]);
});

test("a second write is a new version, and the first can still be read", async () => {
  await using keep = await openVault(shared);
  const { id } = await keep.write("/A", "one");
  const [status, second] = await keep.json("PUT", "/secrets/by-path/A", { value: "two" });
  expect([status, second]).toEqual([200, expect.objectContaining({ id, version: 2, revision: 2 })]);
  const valueOf = async (query: string) => (await keep.json("GET", `/secrets/${id}/value${query}`))[1];
  expect(await valueOf("")).toMatchObject({ version: 2, value: "two" });
  expect(await valueOf("?version=1")).toMatchObject({ version: 1, value: "one" });
  expect(await valueOf("?version=3")).toMatchObject({ code: "not_found" });
  const [, versions] = await keep.json("GET", `/secrets/${id}/versions`);
  expect(versions).toMatchObject({ items: [{ version: 2 }, { version: 1 }] });
});

test("binary values and files round-trip byte for byte, as base64 or raw", async () => {
  await using keep = await openVault(shared);
  const bytes = Buffer.from([0, 1, 2, 0xff, 0xfe, 0x80, 0]);
  const body = { value: bytes.toString("base64"), encoding: "base64", type: "binary" };
  expect((await keep.json("PUT", "/secrets/by-path/KEY", body))[0]).toBe(201);
  expect((await keep.json("GET", "/values/by-path/KEY"))[1]).toMatchObject({
    value: body.value,
    encoding: "base64",
    type: "binary",
  });
  const raw = await keep.request("GET", "/values/by-path/KEY", {
    headers: { accept: "application/octet-stream" },
  });
  expect([raw.headers.get("content-type"), Buffer.from(await raw.arrayBuffer())]).toEqual([
    "application/octet-stream",
    bytes,
  ]);
  const file = Buffer.alloc(1_048_576, 7).toString("base64");
  const asFile = { value: file, encoding: "base64", type: "file" };
  expect((await keep.json("PUT", "/secrets/by-path/FILE", asFile))[0]).toBe(201);
  const [, stored] = await keep.json("GET", "/values/by-path/FILE");
  expect(stored).toMatchObject({ value: file });
});

test("a value that is too large for the connection that reads share is returned whole, by id, path and version", async () => {
  await using keep = await openVault(shared);
  for (const size of [65_959, 65_960, 700_000]) {
    const value = Buffer.alloc(size, "x").toString("base64");
    const body = { value, encoding: "base64", type: "file" };
    const [written, { id, version }] = await keep.json("PUT", "/secrets/by-path/LARGE", body);
    expect([201, 200]).toContain(written);
    for (const path of [
      `/secrets/${id}/value`,
      `/secrets/${id}/value?version=${version}`,
      "/values/by-path/LARGE",
    ]) {
      const [status, read] = await keep.json("GET", path);
      expect([path, status, read.value === value]).toEqual([path, 200, true]);
    }
  }
});

test("values that do not match their type and invalid paths are rejected with the field's name", async () => {
  await using keep = await openVault(shared);
  const cases: readonly [path: string, body: unknown, field: string][] = [
    ["/A", { value: "x".repeat(65_537) }, "value"],
    ["/A", { value: "{", type: "json" }, "value"],
    ["/A", { value: "/w==", encoding: "base64" }, "value"],
    ["/A", { value: "no base64!", encoding: "base64", type: "binary" }, "value"],
    ["/A", { value: "\ud800" }, "value"],
    ["/A", { value: "x", note: "\udc00" }, "note"],
    ["/A", { value: "x", tags: [" blank"] }, "tags.0"],
    // Clients normalize dot segments before sending, unless the slash is encoded.
    ["/a%2f..%2fb", { value: "x" }, "path"],
    ["/a//b", { value: "x" }, "path"],
    ["/a/%00", { value: "x" }, "path"],
    ["/*", { value: "x" }, "path"],
    [`/${"n".repeat(256)}`, { value: "x" }, "path"],
    ["/x".repeat(17), { value: "x" }, "path"],
  ];
  for (const [path, body, field] of cases) {
    const [status, problem] = await keep.json("PUT", `/secrets/by-path${path}`, body);
    expect([path, status, problem.errors?.[0]?.place]).toEqual([path, 422, field]);
  }
  for (const path of ["/x".repeat(16), `/${"n".repeat(255)}`, "/a b/ü/日本"]) {
    expect((await keep.json("PUT", `/secrets/by-path${encodeURI(path)}`, { value: "x" }))[0]).toBe(201);
  }
});

test("renaming, moving, tagging and annotating keep the id, the versions and the value", async () => {
  await using keep = await openVault(shared);
  const { id } = await keep.write("/old/NAME", "one");
  await keep.write("/old/NAME", "two");
  await keep.write("/taken", "x");
  const [status, moved] = await keep.json("PATCH", `/secrets/${id}`, {
    name: "OTHER",
    folder: "/new/place",
    tags: ["a", "b"],
    note: "hello",
  });
  expect([status, moved]).toEqual([
    200,
    expect.objectContaining({ id, path: "/new/place/OTHER", version: 2, tags: ["a", "b"], has_note: true }),
  ]);
  expect((await keep.json("GET", "/values/by-path/new/place/OTHER"))[1]).toMatchObject({
    value: "two",
    note: "hello",
  });
  expect((await keep.json("GET", `/secrets/${id}/value?version=1`))[1]).toMatchObject({ value: "one" });
  expect((await keep.json("GET", "/values/by-path/old/NAME"))[0]).toBe(404);
  expect(await keep.json("PATCH", `/secrets/${id}`, { name: "taken", folder: "/" })).toEqual([
    409,
    expect.objectContaining({ code: "conflict" }),
  ]);
  const [, cleared] = await keep.json("PATCH", `/secrets/${id}`, { note: null });
  expect(cleared).toMatchObject({ has_note: false, tags: ["a", "b"] });
});

test("a deleted secret is not found, is listed as deleted, and can be restored unless its path is taken", async () => {
  await using keep = await openVault(shared);
  const { id } = await keep.write("/A", "one");
  expect((await keep.request("DELETE", `/secrets/${id}`)).status).toBe(204);
  for (const path of [
    `/secrets/${id}`,
    `/secrets/${id}/value`,
    "/values/by-path/A",
    `/secrets/${id}/versions`,
  ]) {
    expect([path, (await keep.json("GET", path))[0]]).toEqual([path, 404]);
  }
  expect((await keep.request("DELETE", `/secrets/${id}`)).status).toBe(404);
  const [, deleted] = await keep.json("GET", "/secrets?state=deleted");
  expect(deleted).toMatchObject({ items: [{ id, deleted_at: expect.stringMatching(/Z$/) }] });
  const other = await keep.write("/A", "two");
  expect((await keep.json("POST", `/secrets/${id}/restore`))[0]).toBe(409);
  await keep.request("DELETE", `/secrets/${other.id}?purge=true`);
  expect((await keep.json("POST", `/secrets/${id}/restore`))[0]).toBe(200);
  expect((await keep.json("GET", "/values/by-path/A"))[1]).toMatchObject({ id, value: "one" });
  expect((await keep.json("POST", `/secrets/${id}/restore`))[0]).toBe(404);
});

test("a purge deletes every row of the secret, and requires its own scope", async () => {
  await using keep = await openVault(shared);
  const { id } = await keep.write("/A", "one");
  const weaker = await keep.addToken({ scopes: ["secrets:delete"] });
  expect(await keep.as(weaker).json("DELETE", `/secrets/${id}?purge=true`)).toEqual([
    403,
    expect.objectContaining({
      code: "insufficient_scope",
      detail: "This request requires the scope secrets:destroy",
    }),
  ]);
  expect((await keep.request("DELETE", `/secrets/${id}?purge=true`)).status).toBe(204);
  const rows = await keep.database.queryInAccount(keep.person.accountId, {
    text: "SELECT secret_id AS id FROM secret_version WHERE account_id = entered.account::uuid UNION ALL SELECT id FROM secret WHERE account_id = entered.account::uuid",
  });
  expect(rows).toEqual([]);
});

test("an older version can be restored as a new one; a destroyed version cannot", async () => {
  await using keep = await openVault(shared);
  const { id } = await keep.write("/A", "one");
  await keep.write("/A", "two");
  const [status, restored] = await keep.json("POST", `/secrets/${id}/versions/1/restore`);
  expect([status, restored]).toEqual([200, expect.objectContaining({ version: 3 })]);
  expect((await keep.json("GET", "/values/by-path/A"))[1]).toMatchObject({ version: 3, value: "one" });
  expect((await keep.json("DELETE", `/secrets/${id}/versions/3`))[0]).toBe(409);
  expect((await keep.request("DELETE", `/secrets/${id}/versions/2`)).status).toBe(204);
  for (const [method, path] of [
    ["GET", `/secrets/${id}/value?version=2`],
    ["POST", `/secrets/${id}/versions/2/restore`],
    ["DELETE", `/secrets/${id}/versions/2`],
    ["DELETE", `/secrets/${id}/versions/4`],
    ["DELETE", `/secrets/${id}/versions/x`],
  ] as const) {
    expect([path, (await keep.json(method, path))[0]]).toEqual([path, 404]);
  }
  const [, versions] = await keep.json("GET", `/secrets/${id}/versions`);
  expect(versions).toMatchObject({
    items: [{ version: 3 }, { version: 2, destroyed_at: expect.any(String) }, { version: 1 }],
  });
});

test("a write beyond the vault's version limit is rejected with a hint, and nothing is destroyed", async () => {
  await using keep = await openVault(shared);
  await keep.json("PATCH", "", { most_versions: 2, when_versions_full: "refuse" });
  const { id } = await keep.write("/A", "one");
  await keep.write("/A", "two");
  const refused = await keep.json("PUT", "/secrets/by-path/A", { value: "three" });
  expect(refused).toEqual([
    409,
    expect.objectContaining({ code: "versions_full", detail: expect.stringContaining("DELETE") }),
  ]);
  expect((await keep.json("GET", `/secrets/${id}/value?version=1`))[1]).toMatchObject({ value: "one" });
  await keep.request("DELETE", `/secrets/${id}/versions/1`);
  expect((await keep.json("PUT", "/secrets/by-path/A", { value: "three" }))[0]).toBe(200);
});

test("a token with paths lists and reads only what they match", async () => {
  await using keep = await openVault(shared);
  const prod = await keep.write("/prod/A", "1");
  const deep = await keep.write("/prod/eu/B", "2");
  const other = await keep.write("/test/C", "3");
  const limited = await keep.addToken({ scopes: everyScope, paths: ["/prod/*", "/x.y/**"] });
  const [, seen] = await keep.as(limited).json("GET", "/secrets?recursive=true");
  expect(seen).toMatchObject({ items: [{ id: prod.id }] });
  const statuses = async (path: string) => (await keep.as(limited).json("GET", path))[0];
  expect(await statuses(`/secrets/${prod.id}/value`)).toBe(200);
  for (const { id } of [deep, other]) {
    for (const path of [`/secrets/${id}`, `/secrets/${id}/value`, `/secrets/${id}/versions`]) {
      expect([path, await statuses(path)]).toEqual([path, 404]);
    }
  }
  expect(await statuses("/values/by-path/test/C")).toBe(403);
  expect(await statuses("/values/by-path/test/none")).toBe(403);
  expect(await statuses("/secrets/by-path/prod/eu/B")).toBe(403);
  const write = async (method: string, path: string, body: unknown) =>
    (await keep.as(limited).json(method, path, body))[0];
  expect(await write("PUT", "/secrets/by-path/test/C", { value: "x" })).toBe(403);
  expect(await write("PATCH", `/secrets/${prod.id}`, { folder: "/test" })).toBe(403);
  expect(await write("PATCH", `/secrets/${deep.id}`, { folder: "/prod" })).toBe(404);
  expect(await write("PUT", "/secrets/by-path/x.y/A", { value: "x" })).toBe(201);
  expect(await write("PUT", "/secrets/by-path/xzy/A", { value: "x" })).toBe(403);
});

test("lists are paged and filtered by name, tag and text, and a forged cursor is rejected", async () => {
  await using keep = await openVault(shared);
  for (const name of ["c", "a", "b", "d", "e"]) {
    await keep.json("PUT", `/secrets/by-path/f/${name}`, { value: "x", tags: name === "d" ? ["odd"] : [] });
  }
  const names: string[] = [];
  let cursor = "";
  do {
    const [, page] = await keep.json("GET", `/secrets?recursive=true&limit=2${cursor}`);
    names.push(...page.items.map((item) => item.name));
    cursor = page.next_cursor === undefined ? "" : `&cursor=${page.next_cursor}`;
  } while (cursor !== "");
  expect(names).toEqual(["a", "b", "c", "d", "e"]);
  expect((await keep.json("GET", "/secrets?path=/f&tag=odd"))[1]).toMatchObject({ items: [{ name: "d" }] });
  expect((await keep.json("GET", "/secrets?recursive=true&q=F/E"))[1]).toMatchObject({
    items: [{ name: "e" }],
  });
  for (const forged of ["AAAA", Buffer.from('["\\u0000","x"]').toString("base64url"), "e30", "W10"]) {
    expect([forged, (await keep.json("GET", `/secrets?cursor=${forged}`))[0]]).toEqual([forged, 422]);
  }
  for (const query of ["limit=0", "limit=201", "limit=x", "recursive=yes", "unknown=1", "limit=1&limit=2"]) {
    expect([query, (await keep.json("GET", `/secrets?${query}`))[0]]).toEqual([query, 422]);
  }
});

test("a batch is all or nothing, with a precondition per operation", async () => {
  await using keep = await openVault(shared);
  const a = await keep.write("/A", "one");
  await keep.write("/B", "one");
  const run = (operations: readonly unknown[], token = keep.token.text) =>
    keep.as(token).json("POST", "/batch", { operations });
  const [status, outcome] = await run([
    { op: "put", path: "/A", value: "two", if_revision: a.revision },
    { op: "put", path: "/C", value: "new", if_revision: 0 },
    { op: "move", path: "/C", to: "/D" },
    { op: "delete", path: "/B" },
  ]);
  expect(status).toBe(200);
  expect(outcome.results.map((each) => each.outcome)).toEqual(["changed", "created", "moved", "deleted"]);
  expect((await keep.json("GET", ""))[1].revision).toBe(outcome.revision);
  expect((await keep.json("GET", "/values/by-path/D"))[1]).toMatchObject({ value: "new" });
  for (const [operations, code] of [
    [
      [
        { op: "put", path: "/E", value: "x" },
        { op: "put", path: "/A", value: "y", if_revision: a.revision },
      ],
      412,
    ],
    [
      [
        { op: "put", path: "/E", value: "x" },
        { op: "put", path: "/A", value: "y", if_revision: 0 },
      ],
      412,
    ],
    [
      [
        { op: "put", path: "/E", value: "x" },
        { op: "delete", path: "/none" },
      ],
      404,
    ],
    [
      [
        { op: "put", path: "/E", value: "x" },
        { op: "delete", path: "/none", if_revision: a.revision },
      ],
      412,
    ],
    [
      [
        { op: "put", path: "/E", value: "x" },
        { op: "move", path: "/A", to: "/D" },
      ],
      409,
    ],
    [[], 422],
  ] as const) {
    expect((await run(operations))[0]).toBe(code);
    expect((await keep.json("GET", "/values/by-path/E"))[0]).toBe(404);
  }
  const writer = await keep.addToken({ scopes: ["secrets:write"] });
  expect((await run([{ op: "delete", path: "/A" }], writer))[0]).toBe(403);
});

function put(...names: readonly string[]): readonly object[] {
  return names.map((name) => ({ op: "put", path: `/${name}`, value: "x" }));
}

test("an account can have 10,000 secrets, and a deletion in a batch frees room for a later write in it", async () => {
  await using keep = await openVault(shared);
  const first = await keep.write("/first", "x");
  const { accountId, vaultId } = keep.person;
  await keep.database.inAccount(accountId, (transaction) =>
    transaction.query({
      text: "INSERT INTO secret (account_id, vault_id, id, folder, name, type, current_version, revision, key_version, mark, updated_by) SELECT $1, $2, gen_random_uuid(), '/many', 'secret-' || number, 'text', 1, 1, 1, sha256(int4send(number)), 'server' FROM generate_series(1, 9997) AS number",
      values: [accountId, vaultId],
    }),
  );
  await resealVaults(keep, keep.person);
  const batch = async (operations: readonly object[]) =>
    (await keep.json("POST", "/batch", { operations }))[0];
  expect(await batch(put("a", "b", "c"))).toBe(409);
  expect(await batch(put("a", "b"))).toBe(200);
  expect(await batch(put("c"))).toBe(409);
  expect(await batch([{ op: "delete", path: first.path }, ...put("c")])).toBe(200);
  expect(await batch(put("d"))).toBe(409);
});
