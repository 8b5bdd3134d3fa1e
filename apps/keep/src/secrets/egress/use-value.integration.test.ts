import { afterAll, beforeAll, expect, test } from "vitest";
import { type OpenedVault, openVault } from "../../test/open-vault.ts";

const rule = { hosts: ["api.example"], methods: ["GET"], paths: ["/user"], ask: false };
const use = { host: "api.example", method: "GET", path: "/user" };

let vault: OpenedVault;
let id: string;

beforeAll(async () => {
  vault = await openVault();
  id = (await vault.write("/app/KEY", "the value")).id;
});
afterAll(() => vault[Symbol.asyncDispose]());

const setRule = (egress: object | null) => vault.json("PATCH", `/secrets/${id}`, { egress });
const useValue = (changes: object = {}) => vault.json("POST", `/secrets/${id}/use`, { ...use, ...changes });

test("a value is returned for a request that the rule allows, and the use is recorded", async () => {
  expect(await useValue()).toMatchObject([403, { code: "use_not_allowed" }]);
  expect(await setRule(rule)).toMatchObject([200, { egress: rule }]);
  expect(await vault.json("GET", `/secrets/${id}`)).toMatchObject([200, { egress: rule }]);
  expect(await useValue()).toMatchObject([200, { value: "the value", path: "/app/KEY" }]);
  for (const other of [{ host: "b.example" }, { method: "POST" }, { path: "/users" }])
    expect(await useValue(other)).toMatchObject([403, { code: "use_not_allowed" }]);
  const [, { items }] = await vault.json("GET", "/audit?type=value-used");
  const recorded = {
    secret: id,
    path: "/app/KEY",
    version: 1,
    host: "api.example",
    method: "GET",
    request_path: "/user",
  };
  expect(items).toMatchObject([{ body: recorded }]);
  await expect
    .poll(async () => (await vault.json("GET", "/api/secrets/audit?type=denied"))[1].items)
    .toMatchObject(Array.from({ length: 4 }, () => ({ body: { reason: "use-not-allowed" } })));
});

test("a rule stays with new values, tags and folders, and ends when it is removed", async () => {
  await setRule(rule);
  await vault.write("/app/KEY", "another value");
  await vault.json("PATCH", `/secrets/${id}`, { folder: "/moved", tags: ["a"] });
  expect(await useValue()).toMatchObject([200, { value: "another value", path: "/moved/KEY" }]);
  const [, removed] = await setRule(null);
  expect(removed).not.toHaveProperty("egress");
  expect((await useValue())[0]).toBe(403);
  await vault.json("PATCH", `/secrets/${id}`, { folder: "/app" });
});

test("who may write but not read cannot choose the hosts, and who may read and write can", async () => {
  const change = (token: string) => vault.as(token).json("PATCH", `/secrets/${id}`, { egress: rule });
  const writes = await vault.addToken({ scopes: ["secrets:write"] });
  expect(await change(writes)).toMatchObject([403, { code: "insufficient_scope" }]);
  const both = await vault.addToken({ scopes: ["secrets:read", "secrets:write"] });
  expect((await change(both))[0]).toBe(200);
});

test.each([
  { hosts: [] },
  { hosts: ["https://api.example"] },
  { hosts: ["*.example"] },
  { hosts: ["API.example"] },
  { hosts: ["api.example"], paths: ["user"] },
  { hosts: ["api.example"], methods: ["CONNECT"] },
])("%j is no rule", async (changes) => {
  expect((await setRule({ ask: false, ...changes }))[0]).toBe(422);
});
