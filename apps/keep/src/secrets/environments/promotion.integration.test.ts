import { afterAll, beforeAll, expect, test } from "vitest";
import { type OpenedVault, startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { startEnvironments, writeAll } from "./test/fixture.ts";

let keep: TestKeep;
beforeAll(async () => {
  keep = await startUnlimitedKeep();
});
afterAll(() => keep[Symbol.asyncDispose]());

const promote = (vault: Pick<OpenedVault, "json">, body: object = {}) =>
  vault.json("POST", "/promote", { from: "/staging", to: "/prod", ...body });

async function values(vault: OpenedVault, path: string): Promise<Readonly<Record<string, string>>> {
  const [, { items }] = await vault.json("GET", `/values?path=${path}&recursive=true`);
  return Object.fromEntries(items.map((item) => [item.path, item.value]));
}

test("a promotion copies values as they were written, and a dry run reports the same and changes nothing", async () => {
  const vault = await startEnvironments(keep);
  await writeAll(vault, {
    "/staging/api/URL": "https://${./HOST}",
    "/staging/api/HOST": "staging",
    "/staging/SAME": "same",
    "/prod/SAME": "same",
    "/prod/api/HOST": "prod",
    "/prod/ONLY": "only",
  });
  const expected = {
    created: ["/prod/api/URL"],
    changed: ["/prod/api/HOST"],
    unchanged: ["/prod/SAME"],
    local: [],
  };
  const before = await values(vault, "/prod");
  const [, dryRun] = await promote(vault, { dry_run: true });
  expect(dryRun).toMatchObject({ dry_run: true, ...expected });
  expect(await values(vault, "/prod")).toEqual(before);
  expect(await promote(vault, { if_revision: dryRun.revision })).toMatchObject([
    200,
    { dry_run: false, ...expected },
  ]);
  expect(await values(vault, "/prod")).toEqual({
    "/prod/api/URL": "https://${./HOST}",
    "/prod/api/HOST": "staging",
    "/prod/SAME": "same",
    "/prod/ONLY": "only",
  });
  expect(await promote(vault)).toMatchObject([200, { created: [], changed: [] }]);
  const [, log] = await vault.json("GET", "/audit");
  // Events of the audit log.
  const bodies = log.items.map((item) => ("body" in item ? item.body : {})) as Record<string, unknown>[];
  expect(bodies.filter(({ type }) => type === "values-promoted")).toMatchObject([
    { path: "/staging", to: "/prod", written: 0 },
    { path: "/staging", to: "/prod", written: 2 },
  ]);
  const written = bodies.filter(({ type, path }) => type === "secret-written" && path === "/prod/api/HOST");
  expect(written).toMatchObject([{ version: 2 }, { version: 1 }]);
});

test("a folder that does not exist is not promoted as an empty one", async () => {
  const vault = await startEnvironments(keep);
  await vault.write("/staging/KEY", "x");
  for (const dryRun of [true, false])
    expect(await promote(vault, { from: "/stagign", dry_run: dryRun })).toMatchObject([
      422,
      { errors: [{ place: "from", reason: "names a folder that does not exist: /stagign" }] },
    ]);
  await vault.json("POST", "/folders", { path: "/empty" });
  expect(await promote(vault, { from: "/empty" })).toMatchObject([200, { created: [], changed: [] }]);
});

test("secrets with the tag local stay behind, and are not overwritten", async () => {
  const vault = await startEnvironments(keep);
  const put = (path: string, value: string, tags: readonly string[] = []) =>
    vault.json("PUT", `/secrets/by-path${path}`, { value, tags });
  await put("/staging/LOCAL", "staging", ["local"]);
  await put("/staging/KEPT", "staging");
  await put("/prod/KEPT", "prod", ["local"]);
  await put("/staging/SHARED", "shared", ["team"]);
  expect(await promote(vault)).toMatchObject([
    200,
    { created: ["/prod/SHARED"], changed: [], local: ["/staging/KEPT", "/staging/LOCAL"] },
  ]);
  expect(await values(vault, "/prod")).toEqual({ "/prod/KEPT": "prod", "/prod/SHARED": "shared" });
  expect(await vault.json("GET", "/secrets/by-path/prod/SHARED")).toMatchObject([200, { tags: ["team"] }]);
});

test("names select single secrets, and an unknown one promotes nothing", async () => {
  const vault = await startEnvironments(keep);
  await writeAll(vault, { "/staging/A": "a", "/staging/api/B": "b", "/staging/C": "c" });
  expect(await promote(vault, { names: ["A", "GONE"] })).toMatchObject([422, { code: "validation_failed" }]);
  expect(await values(vault, "/prod")).toEqual({});
  expect(await promote(vault, { names: ["A", "api/B"] })).toMatchObject([
    200,
    { created: ["/prod/A", "/prod/api/B"] },
  ]);
  expect(await values(vault, "/prod")).toEqual({ "/prod/A": "a", "/prod/api/B": "b" });
});

test("a promotion decided on an older revision is refused", async () => {
  const vault = await startEnvironments(keep);
  await writeAll(vault, { "/staging/A": "a" });
  const [, { revision }] = await promote(vault, { dry_run: true });
  await vault.write("/staging/A", "b");
  expect(await promote(vault, { if_revision: revision })).toMatchObject([
    412,
    { code: "precondition_failed" },
  ]);
  const [, again] = await promote(vault, { dry_run: true });
  expect(await promote(vault, { if_revision: again.revision })).toMatchObject([
    200,
    { created: ["/prod/A"] },
  ]);
  await vault.json("PATCH", "", { demands_preconditions: true });
  expect(await promote(vault)).toMatchObject([428, { code: "precondition_required" }]);
  expect(await promote(vault, { dry_run: true })).toMatchObject([200, { unchanged: ["/prod/A"] }]);
});

test("promoting needs to read and write, in both folders", async () => {
  const vault = await startEnvironments(keep);
  await writeAll(vault, { "/staging/A": "a", "/staging/B": "b" });
  type Scopes = readonly ("secrets:read" | "secrets:write")[];
  const as = async (scopes: Scopes, paths: readonly string[], body: object = {}) => {
    const [status, { code }] = await promote(vault.as(await vault.addToken({ scopes, paths })), body);
    return [status, code];
  };
  const both = ["secrets:read", "secrets:write"] as const;
  const all = ["/staging/**", "/prod/**"];
  expect(await as(["secrets:read"], all)).toEqual([403, "insufficient_scope"]);
  expect(await as(["secrets:write"], all)).toEqual([403, "insufficient_scope"]);
  expect(await as(both, ["/staging/**"])).toEqual([403, "out_of_reach"]);
  expect(await as(both, ["/prod/**"])).toEqual([403, "out_of_reach"]);
  expect(await as(both, ["/staging/A", "/prod/**"])).toEqual([403, "out_of_reach"]);
  expect(await as(both, ["/staging/A", "/prod/A"], { names: ["A", "B"] })).toEqual([403, "out_of_reach"]);
  expect(await values(vault, "/prod")).toEqual({});
  expect(await as(both, ["/staging/A", "/prod/A"], { names: ["A"] })).toEqual([200, undefined]);
  expect(await as(both, all)).toEqual([200, undefined]);
  expect(await values(vault, "/prod")).toEqual({ "/prod/A": "a", "/prod/B": "b" });
});

test("a reference is promoted only by whoever may read what it means in the target", async () => {
  const vault = await startEnvironments(keep);
  await vault.json("PATCH", "", { base: null });
  await writeAll(vault, { "/staging/URL": "${./HOST}", "/staging/OTHER": "${/elsewhere/X}" });
  const scopes = ["secrets:read", "secrets:write"] as const;
  const as = async (paths: readonly string[], names: readonly string[]) =>
    promote(vault.as(await vault.addToken({ scopes, paths })), { names });
  const refused = [403, { code: "out_of_reach" }];
  expect(await as(["/staging/**", "/prod/URL"], ["URL"])).toMatchObject(refused);
  expect(await as(["/staging/**", "/prod/URL", "/prod/HOST"], ["URL"])).toMatchObject([200, {}]);
  expect(await as(["/staging/**", "/prod/**"], ["OTHER"])).toMatchObject(refused);
  expect(await as(["/staging/**", "/prod/**", "/elsewhere/*"], ["OTHER"])).toMatchObject([200, {}]);
});

test("a repeated promotion with its idempotency key takes effect once", async () => {
  const vault = await startEnvironments(keep);
  await writeAll(vault, { "/staging/A": "a" });
  const send = async () => {
    const body = { from: "/staging", to: "/prod" };
    const response = await vault.request("POST", "/promote", {
      body,
      headers: { "idempotency-key": "once" },
    });
    return response.json();
  };
  const first = await send();
  await vault.write("/staging/A", "b");
  expect(await send()).toEqual(first);
  expect(await values(vault, "/prod")).toEqual({ "/prod/A": "a" });
});

test("a folder cannot be promoted into itself", async () => {
  const vault = await startEnvironments(keep);
  for (const to of ["/staging", "/staging/deep", "/"])
    expect(await promote(vault, { to })).toMatchObject([409, { code: "conflict" }]);
  expect(await promote(vault, { to: "/staging-copy" })).toMatchObject([200, { created: [] }]);
});
