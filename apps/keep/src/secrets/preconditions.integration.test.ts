import { afterAll, beforeAll, expect, test } from "vitest";
import { openVault, startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";

let shared: TestKeep;
beforeAll(async () => {
  shared = await startUnlimitedKeep();
});
afterAll(() => shared[Symbol.asyncDispose]());

test("every write of a secret honours If-Match and If-None-Match as in RFC 9110", async () => {
  await using keep = await openVault(shared);
  const put = async (headers: Readonly<Record<string, string>>, path = "/A") =>
    (await keep.request("PUT", `/secrets/by-path${path}`, { body: { value: "x" }, headers })).status;
  expect(await put({ "if-match": "*" })).toBe(412);
  expect(await put({ "if-none-match": "*" })).toBe(201);
  expect(await put({ "if-none-match": "*" })).toBe(412);
  const { id, revision } = (await keep.json("GET", "/secrets/by-path/A"))[1];
  expect(await put({ "if-match": `"${revision + 1}"` })).toBe(412);
  expect(await put({ "if-match": `W/"${revision}"` })).toBe(412);
  expect(await put({ "if-none-match": `W/"${revision}"` })).toBe(412);
  expect(await put({ "if-match": `"0", , "${revision}"` })).toBe(200);
  expect(await put({ "if-match": `"${revision}"` })).toBe(412);
  expect(await put({ "if-match": "*" })).toBe(200);
  for (const malformed of ["7", '"7', "*, *", ",", `"${"x".repeat(300)}"`, Array(101).fill('"1"').join()]) {
    expect([malformed, await put({ "if-match": malformed })]).toEqual([malformed, 422]);
  }
  for (const [method, path, body] of [
    ["PATCH", `/secrets/${id}`, { tags: ["t"] }],
    ["POST", `/secrets/${id}/versions/1/restore`, undefined],
    ["DELETE", `/secrets/${id}/versions/1`, undefined],
    ["DELETE", `/secrets/${id}`, undefined],
    ["POST", `/secrets/${id}/restore`, undefined],
    ["DELETE", `/secrets/${id}?purge=true`, undefined],
  ] as const) {
    const state = path.endsWith(`${id}/restore`) ? "deleted" : undefined;
    const current = (await keep.json("GET", `/secrets?${state === undefined ? "" : "state=deleted"}`))[1]
      .items;
    const options = body === undefined ? {} : { body };
    const stale = await keep.request(method, path, { ...options, headers: { "if-match": '"1"' } });
    expect([method, path, stale.status]).toEqual([method, path, 412]);
    const fresh = await keep.request(method, path, {
      ...options,
      headers: { "if-match": `"${current[0]?.revision}"` },
    });
    expect([method, path, fresh.status < 300]).toEqual([method, path, true]);
  }
});

test("a vault that requires preconditions rejects every write without one", async () => {
  await using keep = await openVault(shared);
  const { id } = await keep.write("/f/A", "one");
  await keep.write("/f/A", "two");
  const changed = await keep.request("PATCH", "", { body: { demands_preconditions: true } });
  expect(changed.status).toBe(200);
  for (const [method, path, body] of [
    ["PUT", "/secrets/by-path/f/A", { value: "x" }],
    ["PUT", "/secrets/by-path/f/new", { value: "x" }],
    ["PATCH", `/secrets/${id}`, { name: "B" }],
    ["DELETE", `/secrets/${id}`, undefined],
    ["POST", `/secrets/${id}/versions/1/restore`, undefined],
    ["DELETE", `/secrets/${id}/versions/1`, undefined],
    ["POST", "/folders", { path: "/g" }],
    ["POST", "/folders/move", { from: "/f", to: "/h" }],
    ["DELETE", "/folders?path=/f&recursive=true", undefined],
    ["POST", "/batch", { operations: [{ op: "put", path: "/A", value: "x" }] }],
    ["PATCH", "", { name: "Other" }],
  ] as const) {
    expect([path, await keep.json(method, path, body)]).toEqual([
      path,
      [428, expect.objectContaining({ code: "precondition_required" })],
    ]);
  }
  const statusOf = async (
    method: string,
    path: string,
    options: { readonly headers: Record<string, string>; readonly body: unknown },
  ) => (await keep.request(method, path, options)).status;
  expect(
    await statusOf("PUT", "/secrets/by-path/f/A", { headers: { "if-match": "*" }, body: { value: "x" } }),
  ).toBe(200);
  expect(
    await statusOf("PUT", "/secrets/by-path/f/B", {
      headers: { "if-none-match": "*" },
      body: { value: "x" },
    }),
  ).toBe(201);
  expect(
    await statusOf("POST", "/folders", { headers: { "if-none-match": "*" }, body: { path: "/g" } }),
  ).toBe(201);
  const { revision } = (await keep.json("GET", ""))[1];
  expect(
    await statusOf("POST", "/folders/move", {
      headers: { "if-match": `"${revision - 1}"` },
      body: { from: "/f", to: "/h" },
    }),
  ).toBe(412);
  expect(
    await statusOf("POST", "/folders/move", {
      headers: { "if-match": `"${revision}"` },
      body: { from: "/f", to: "/h" },
    }),
  ).toBe(200);
  const operations = [{ op: "put", path: "/h/A", value: "y", if_revision: "*" }];
  expect((await keep.json("POST", "/batch", { operations }))[0]).toBe(200);
});

test("a repeated Idempotency-Key has one effect and one response; a different request with it is rejected", async () => {
  await using keep = await openVault(shared);
  const put = (value: string, key: string, ifMatch?: string) =>
    keep.request("PUT", "/secrets/by-path/A", {
      body: { value },
      headers: { "idempotency-key": key, ...(ifMatch === undefined ? {} : { "if-match": ifMatch }) },
    });
  const first = await put("canary-one", "k1");
  const again = await put("canary-one", "k1", '"77"');
  expect([again.status, await again.text()]).toEqual([first.status, await first.text()]);
  const mismatch = await put("canary-two", "k1");
  expect([mismatch.status, await mismatch.json()]).toEqual([
    422,
    expect.objectContaining({ code: "idempotency_mismatch" }),
  ]);
  expect((await put("canary-two", "k2")).status).toBe(200);
  const { items } = (await keep.json("GET", "/secrets"))[1];
  expect(items).toMatchObject([{ version: 2 }]);
  for (const bad of ["x".repeat(256), "é", "\u0001"]) {
    const response = await put("x", bad).catch(() => undefined);
    expect([bad, response?.status ?? 422]).toEqual([bad, 422]);
  }
  const rows = await keep.database.queryInAccount<{ answer: string }>(keep.person.accountId, {
    text: "SELECT answer FROM idempotent_answer WHERE account_id = entered.account::uuid",
  });
  expect(rows).toHaveLength(2);
  expect(JSON.stringify(rows)).not.toContain("canary");
});

test("a failed request does not consume its Idempotency-Key", async () => {
  await using keep = await openVault(shared);
  const put = async (ifMatch: string | undefined) =>
    (
      await keep.request("PUT", "/secrets/by-path/A", {
        body: { value: "x" },
        headers: { "idempotency-key": "k", ...(ifMatch === undefined ? {} : { "if-match": ifMatch }) },
      })
    ).status;
  expect([await put("*"), await put(undefined), await put("*")]).toEqual([412, 201, 201]);
});
