import { afterAll, beforeAll, expect, test } from "vitest";
import { type OpenedVault, openVault, startUnlimitedKeep } from "../../test/open-vault.ts";
import { seededRandom } from "../../test/seeded-random.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { startEnvironments, writeAll } from "./test/fixture.ts";

let keep: TestKeep;
beforeAll(async () => {
  keep = await startUnlimitedKeep();
});
afterAll(() => keep[Symbol.asyncDispose]());

async function readMap(
  vault: OpenedVault,
  query: string,
  token = vault.token.text,
): Promise<Readonly<Record<string, readonly [from: string | undefined, value: string]>>> {
  const [status, body] = await vault.as(token).json("GET", `/values?${query}`);
  expect([status, body.code]).toEqual([200, undefined]);
  return Object.fromEntries(
    body.items.map(({ path, value, ...item }) => [
      path,
      ["from" in item ? String(item.from) : undefined, value],
    ]),
  );
}

test("an environment inherits from the base what it does not have itself, and each value says from where", async () => {
  const vault = await startEnvironments(keep);
  await writeAll(vault, {
    "/base/api/HOST": "base host",
    "/base/api/PORT": "base port",
    "/base/api/deep/LEVEL": "base level",
    "/base/web/THEME": "base theme",
    "/prod/api/HOST": "prod host",
    "/prod/api/KEY": "prod key",
  });
  expect(await readMap(vault, "path=/prod/api&inherit=true")).toEqual({
    "/prod/api/HOST": ["/prod/api/HOST", "prod host"],
    "/prod/api/KEY": ["/prod/api/KEY", "prod key"],
    "/prod/api/PORT": ["/base/api/PORT", "base port"],
  });
  expect(Object.keys(await readMap(vault, "path=/prod&inherit=true&recursive=true"))).toEqual([
    "/prod/api/HOST",
    "/prod/api/KEY",
    "/prod/api/PORT",
    "/prod/api/deep/LEVEL",
    "/prod/web/THEME",
  ]);
  expect(await readMap(vault, "path=/prod/api&inherit=true&names=PORT")).toEqual({
    "/prod/api/PORT": ["/base/api/PORT", "base port"],
  });
  expect(await readMap(vault, "path=/prod/api")).toEqual({
    "/prod/api/HOST": [undefined, "prod host"],
    "/prod/api/KEY": [undefined, "prod key"],
  });
});

test("generated folders inherit as plain maps do", async () => {
  const random = seededRandom(20);
  for (let round = 0; round < 5; round += 1) {
    const vault = await startEnvironments(keep);
    const secrets: Record<string, string> = {};
    for (let index = 0; index < 40; index += 1) {
      const folder = random.pick(["", "/api", "/api/v2", "/web"]);
      secrets[`${random.pick(["/base", "/dev"])}${folder}/N${random.between(0, 9)}`] = `value ${index}`;
    }
    await writeAll(vault, secrets);
    const expected: Record<string, readonly [string, string]> = {};
    for (const own of [false, true])
      for (const [path, value] of Object.entries(secrets))
        if (path.startsWith("/dev/") === own) expected[path.replace("/base/", "/dev/")] = [path, value];
    expect(await readMap(vault, "path=/dev&inherit=true&recursive=true")).toEqual(expected);
  }
});

test("a token inherits only what it may read at both paths", async () => {
  const vault = await startEnvironments(keep);
  await writeAll(vault, { "/base/A": "base a", "/base/B": "base b", "/prod/B": "prod b" });
  const read = async (paths: readonly string[]) => {
    const token = await vault.addToken({ scopes: ["secrets:read"], paths });
    return vault.as(token).json("GET", "/values?path=/prod&inherit=true");
  };
  expect(await read(["/prod/**"])).toMatchObject([403, { code: "out_of_reach" }]);
  expect(await read(["/base/**"])).toMatchObject([403, { code: "out_of_reach" }]);
  const itemsOf = async (paths: readonly string[]) => (await read(paths))[1].items.map(({ value }) => value);
  expect(await itemsOf(["/prod/**", "/base/B"])).toEqual(["prod b"]);
  // The value of /prod/B is unreadable, so the base's one must not pass for it.
  expect(await itemsOf(["/prod/A", "/base/**"])).toEqual(["base a"]);
  expect(await itemsOf(["/prod/**", "/base/**"])).toEqual(["base a", "prod b"]);
});

test("a folder outside the environments and a vault without a base inherit nothing", async () => {
  const vault = await startEnvironments(keep);
  const read = async (path: string) => {
    const [status, { errors }] = await vault.json("GET", `/values?path=${path}&inherit=true`);
    return [status, errors?.[0]?.reason];
  };
  expect(await read("/other")).toEqual([422, "needs a path in one of the vault's environments"]);
  expect(await read("/")).toEqual([422, "needs a path in one of the vault's environments"]);
  expect(await read("/prod")).toEqual([200, undefined]);
  await vault.json("PATCH", "", { base: null });
  expect(await read("/prod")).toEqual([422, expect.stringContaining("needs a base")]);
});

test("a relative reference resolves in the folder asked for, there and in the base", async () => {
  const vault = await startEnvironments(keep);
  await writeAll(vault, {
    "/base/api/URL": "https://${./HOST}:${./PORT}${./paths/HEALTH}",
    "/base/api/PORT": "443",
    "/base/api/HOST": "base.test",
    "/base/api/paths/HEALTH": "/health",
    "/prod/api/HOST": "prod.test",
    "/prod/api/LOCAL": "${/prod/api/PORT} ${/prod/api/URL}",
  });
  const expanded = await readMap(vault, "path=/prod/api&inherit=true&expand=references");
  expect(expanded["/prod/api/URL"]).toEqual(["/base/api/URL", "https://prod.test:443/health"]);
  expect(expanded["/prod/api/LOCAL"]?.[1]).toBe("443 https://prod.test:443/health");
  const [, single] = await vault.json("GET", "/values/by-path/base/api/URL?expand=references");
  expect(single.value).toBe("https://base.test:443/health");
  expect(await vault.json("GET", "/values?path=/prod/api&expand=references")).toMatchObject([
    422,
    { code: "reference_missing" },
  ]);
});

test("a relative reference never reaches a secret that its reader may not read, nor leaves its folder upwards", async () => {
  const vault = await startEnvironments(keep);
  await writeAll(vault, {
    "/base/api/URL": "${./PASSWORD}",
    "/base/api/PASSWORD": "base password",
    "/prod/api/PASSWORD": "prod password",
    "/dev/UP": "${./../prod/api/PASSWORD}",
  });
  const token = await vault.addToken({ scopes: ["secrets:read"], paths: ["/prod/api/URL", "/base/**"] });
  const query = "/values?path=/prod/api&inherit=true&expand=references";
  expect(await vault.as(token).json("GET", query)).toMatchObject([422, { code: "reference_missing" }]);
  expect((await vault.json("GET", query))[1].items.map(({ value }) => value)).toEqual([
    "prod password",
    "prod password",
  ]);
  expect(await vault.json("GET", "/values?path=/dev&expand=references")).toMatchObject([
    422,
    { code: "reference_missing" },
  ]);
});

test("nobody plants a relative reference where it would resolve to what they may not read", async () => {
  const vault = await startEnvironments(keep);
  await writeAll(vault, { "/prod/DB": "password", "/prod/HOOK": "https://hook.test", "/base/HOOK": "x" });
  const paths = ["/dev/**", "/base/**", "/prod/HOOK"];
  const limited = vault.as(await vault.addToken({ scopes: ["secrets:read", "secrets:write"], paths }));
  const value = "https://hook.test/?${./DB}";
  const refused = [403, { code: "out_of_reach" }];
  const put = (path: string) => limited.json("PUT", `/secrets/by-path${path}`, { value });
  expect(await put("/prod/HOOK")).toMatchObject(refused);
  // Environments inherit it, where it would mean their own secret.
  expect(await put("/base/HOOK")).toMatchObject(refused);
  expect(await limited.json("POST", "/import?path=/base", { content: `HOOK='${value}'` })).toMatchObject([
    200,
    { skipped: ["/base/HOOK"] },
  ]);
  expect(
    await limited.json("POST", "/import?path=/base&mode=overwrite", { content: `HOOK='${value}'` }),
  ).toMatchObject(refused);
  expect(await put("/dev/PLAN")).toMatchObject([201, {}]);
  const move = { op: "move", path: "/dev/PLAN", to: "/prod/HOOK" };
  await vault.json("DELETE", "/secrets/by-path/prod/HOOK");
  expect(await limited.json("POST", "/batch", { operations: [move] })).toMatchObject(refused);
  expect(await limited.json("PATCH", "/secrets/by-path/dev/PLAN", { folder: "/base" })).toMatchObject(
    refused,
  );
  expect(await limited.json("POST", "/folders/move", { from: "/dev", to: "/base/sub" })).toMatchObject(
    refused,
  );
  // Without a reference, the same move is allowed.
  await vault.write("/dev/PLAIN", "plain");
  expect(
    await limited.json("POST", "/batch", { operations: [{ ...move, path: "/dev/PLAIN" }] }),
  ).toMatchObject([200, {}]);
  expect(await vault.json("PUT", "/secrets/by-path/base/HOOK", { value })).toMatchObject([200, {}]);
});

test("whoever may not read the base cannot plant a reference that a reader would resolve there", async () => {
  const vault = await startEnvironments(keep);
  await writeAll(vault, { "/base/KEY": "base key" });
  const paths = ["/prod/**", "/scratch/**"];
  const limited = vault.as(await vault.addToken({ scopes: ["secrets:read", "secrets:write"], paths }));
  const put = (path: string, value: string) => limited.json("PUT", `/secrets/by-path${path}`, { value });
  const refused = [403, { code: "out_of_reach" }];
  expect(await put("/prod/HOOK", "${./KEY}")).toMatchObject(refused);
  expect(await put("/prod/HOOK", "${/prod/KEY}")).toMatchObject(refused);
  expect(await put("/scratch/HOOK", "${./KEY}")).toMatchObject([201, {}]);
  expect(await limited.json("POST", "/folders/move", { from: "/scratch", to: "/prod/sub" })).toMatchObject(
    refused,
  );
  expect(await put("/scratch/HOOK", "plain")).toMatchObject([200, {}]);
  expect(await limited.json("POST", "/folders/move", { from: "/scratch", to: "/prod/sub" })).toMatchObject([
    200,
    {},
  ]);
  await vault.json("PATCH", "", { base: null });
  expect(await put("/prod/HOOK", "${/prod/KEY}${./KEY}")).toMatchObject([201, {}]);
});

test("an older version with a relative reference is restored only by those who may read what it means now", async () => {
  const vault = await startEnvironments(keep);
  const { id } = await vault.write("/dev/HOOK", "${./DB}");
  await vault.write("/dev/HOOK", "plain");
  await vault.json("PATCH", `/secrets/${id}`, { folder: "/prod" });
  const scopes = ["secrets:read", "secrets:write"] as const;
  const limited = vault.as(await vault.addToken({ scopes, paths: ["/prod/HOOK"] }));
  expect(await limited.json("POST", `/secrets/${id}/versions/1/restore`)).toMatchObject([
    403,
    { code: "out_of_reach" },
  ]);
  expect(await vault.json("POST", `/secrets/${id}/versions/1/restore`)).toMatchObject([200, { version: 3 }]);
});

test("environments and the base are folders at the top of the vault, and the base is none of them", async () => {
  await using vault = await openVault(keep);
  const change = async (settings: object) => {
    const [status, { errors }] = await vault.json("PATCH", "", settings);
    return [status, errors?.[0]];
  };
  expect(await change({ environments: ["a/b"] })).toEqual([
    422,
    { place: "environments.0", reason: "must be a folder at the top of the vault" },
  ]);
  expect(await change({ environments: ["e\u0301", "\u00e9"] })).toEqual([
    422,
    { place: "environments.1", reason: "must not be listed twice" },
  ]);
  expect(await change({ base: "/" })).toMatchObject([422, { place: "base" }]);
  expect(await change({ environments: ["dev"], base: "/dev" })).toMatchObject([422, { place: "base" }]);
  expect(await change({ environments: Array.from({ length: 33 }, (_, index) => `e${index}`) })).toMatchObject(
    [422, {}],
  );
  expect(await vault.json("PATCH", "", { environments: ["dev", "prod"], base: "base" })).toMatchObject([
    200,
    { environments: ["dev", "prod"], base: "/base" },
  ]);
  expect(await vault.json("GET", "")).toMatchObject([200, { environments: ["dev", "prod"], base: "/base" }]);
  expect(await vault.json("PATCH", "", { name: "Renamed" })).toMatchObject([200, { base: "/base" }]);
});

test("a base that was changed in the database is not used", async () => {
  const vault = await startEnvironments(keep);
  await writeAll(vault, { "/base/A": "a", "/dev/A": "another" });
  const read = () => vault.json("GET", "/values?path=/prod&inherit=true");
  expect(await read()).toMatchObject([200, { items: [{ value: "a" }] }]);
  await vault.database.inAccount(vault.person.accountId, (transaction) =>
    transaction.query({
      text: "UPDATE vault SET base_folder = '/dev' WHERE account_id = $1 AND id = $2",
      values: [vault.person.accountId, vault.person.vaultId],
    }),
  );
  expect(await read()).toMatchObject([500, { code: "integrity_error" }]);
});

test("one event records own and inherited values, and the ETag changes with the base", async () => {
  const vault = await startEnvironments(keep);
  await writeAll(vault, { "/base/A": "1", "/prod/B": "2" });
  const read = (headers: Record<string, string> = {}) =>
    vault.request("GET", "/values?path=/prod&inherit=true", { headers });
  const tag = (await read()).headers.get("etag") ?? "";
  expect((await read({ "if-none-match": tag })).status).toBe(304);
  await vault.write("/base/A", "3");
  expect((await read({ "if-none-match": tag })).status).toBe(200);
  const [, log] = await vault.json("GET", "/audit?type=values-read");
  expect(log.items.map((item) => ("body" in item ? item.body : undefined))).toMatchObject([
    { path: "/prod", secrets: [expect.any(String), expect.any(String)] },
    { path: "/prod", secrets: [expect.any(String), expect.any(String)] },
  ]);
});
