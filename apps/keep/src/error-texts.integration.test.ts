import { afterAll, beforeAll, expect, test } from "vitest";
import { type OpenedVault, openVault, startUnlimitedKeep } from "./test/open-vault.ts";
import type { TestKeep } from "./test/start-test-keep.ts";

let shared: TestKeep;
beforeAll(async () => {
  shared = await startUnlimitedKeep();
});
afterAll(() => shared[Symbol.asyncDispose]());

type Text = { readonly status: number; readonly title: string; readonly errors: readonly string[] };

async function errorOf(sending: ReturnType<OpenedVault["json"]>): Promise<Text> {
  const [status, { title, errors = [] }] = await sending;
  return { status, title, errors: errors.map(({ place, reason }) => `${place}: ${reason}`) };
}

test("an invalid request is answered with the field and its allowed values, without words of the validator", async () => {
  await using keep = await openVault(shared);
  const reasonsOf = async (...request: Parameters<OpenedVault["json"]>) => {
    const { status, errors } = await errorOf(keep.json(...request));
    expect(status).toBe(422);
    expect(errors.join()).not.toMatch(/schema|pattern|constant|anyOf|\^/u);
    return errors;
  };
  expect(await reasonsOf("PUT", "/secrets/by-path/A", { val: "x" })).toEqual([
    'val: unknown field "val"; the known ones are value, encoding, type, tags, note',
    "value: is required",
  ]);
  expect(await reasonsOf("GET", "/secrets?limit=9999")).toEqual([
    "limit: must be a whole number from 1 to 200",
  ]);
  expect(await reasonsOf("GET", "/secrets?limt=9")).toEqual([
    expect.stringContaining('unknown field "limt"'),
  ]);
  const token = { name: "t", scopes: ["secrets:peek"] };
  expect(await reasonsOf("POST", "/api/secrets/tokens", token)).toEqual([
    expect.stringMatching(/^scopes\.0: must be one of vaults:read, .*, grants:write$/u),
  ]);
  expect(await reasonsOf("GET", "/audit?type=secret-stolen")).toEqual([
    expect.stringMatching(/^type: must be one of .*secret-written.*denied$/u),
  ]);
  expect((await keep.json("GET", "/audit?type=secret-written"))[0]).toBe(200);
});

test("a failed precondition says whether the secret exists, changed or is missing", async () => {
  await using keep = await openVault(shared);
  await keep.write("/A", "one");
  const titleOf = async (path: string, headers: Readonly<Record<string, string>>) => {
    const response = await keep.request("PUT", `/secrets/by-path${path}`, { body: { value: "x" }, headers });
    // A problem document.
    const { title } = (await response.json()) as { readonly title: string };
    return [response.status, title];
  };
  const failed = "Precondition failed: the resource";
  expect(await titleOf("/A", { "if-none-match": "*" })).toEqual([412, `${failed} exists already`]);
  expect(await titleOf("/A", { "if-match": '"999"' })).toEqual([412, `${failed} has changed`]);
  expect(await titleOf("/B", { "if-match": "*" })).toEqual([412, `${failed} does not exist`]);
});

const put = (path: string, revision: number | "*") => ({
  op: "put",
  path,
  value: "x",
  if_revision: revision,
});

test("a batch names the operation whose precondition failed", async () => {
  await using keep = await openVault(shared);
  await keep.write("/A", "one");
  const batch = (...operations: object[]) => errorOf(keep.json("POST", "/batch", { operations }));
  expect(await batch(put("/B", 0), put("/A", 0))).toMatchObject({
    status: 412,
    errors: ["operations.1: the resource exists already"],
  });
  expect(await batch(put("/C", "*"))).toMatchObject({
    errors: ["operations.0: the resource does not exist"],
  });
  expect((await batch(put("/B", 0), put("/A", "*"))).status).toBe(200);
});

test("a missing reference is reported with the secret that contains it", async () => {
  await using keep = await openVault(shared);
  await keep.write("/app/URL", "x${/prod/HOST}");
  const [status, { code, detail }] = await keep.json("GET", "/values?path=/app&expand=references");
  expect([status, code]).toEqual([422, "reference_missing"]);
  expect(detail).toBe("${/prod/HOST} in the value of /app/URL does not exist or is not readable");
  await keep.write("/prod/HOST", "db");
  expect((await keep.json("GET", "/values?path=/app&expand=references"))[0]).toBe(200);
  // The text is the same for a secret that exists and may not be read.
  const token = await keep.addToken({ scopes: ["secrets:read"], paths: ["/app/**"] });
  expect((await keep.as(token).json("GET", "/values?path=/app&expand=references"))[1].detail).toBe(detail);
});

test("a path with an empty, dotted or reserved segment is rejected with the reason", async () => {
  await using keep = await openVault(shared);
  const reasonOf = async (path: string) =>
    (await errorOf(keep.json("PUT", `/secrets/by-path/${path}`, { value: "" }))).errors;
  expect(await reasonOf("..%2fevil")).toEqual(['path: must not contain the segment ".."']);
  expect(await reasonOf("a//b")).toEqual(["path: must not contain an empty segment, as between two slashes"]);
  expect((await keep.json("PUT", "/secrets/by-path/a/..b", { value: "" }))[0]).toBe(201);
  // Clients shorten this URL to /secrets/evil before they send it.
  const [status, { detail }] = await keep.json("PUT", "/secrets/by-path/%2e%2e/evil", { value: "" });
  expect([status, detail]).toEqual([405, expect.stringContaining("supports GET, HEAD, PATCH, DELETE")]);
});
