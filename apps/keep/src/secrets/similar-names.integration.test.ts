import { expect, test } from "vitest";
import { openVault } from "../test/open-vault.ts";

test("no two secrets have names that look the same", async () => {
  await using keep = await openVault();
  const write = (path: string) => keep.json("PUT", `/secrets/by-path${encodeURI(path)}`, { value: "v" });
  const [composed, decomposed] = ["/caf\u00E9/KEY", "/cafe\u0301/KEY"];
  expect((await write(composed))[0]).toBe(201);
  const [status, again] = await write(decomposed);
  expect([status, again.path, again.version]).toEqual([200, composed, 2]);
  expect((await keep.json("GET", `/values/by-path${encodeURI(decomposed)}`))[0]).toBe(200);
  for (const name of [" ", "KEY ", "\u00A0KEY", "K\u200BEY", "\u202EYEK", "\u2066KEY\u2069", "KEY\uFEFF"]) {
    const [refused, { code }] = await write(`/app/${name}`);
    expect([name, refused, code]).toEqual([name, 422, "validation_failed"]);
  }
  for (const name of ["MY KEY", "ключ", "鍵", "🔑", "it's"])
    expect((await write(`/app/${name}`))[0]).toBe(201);
});

test("names of a file that are the same in composed form are imported once, and reported", async () => {
  await using keep = await openVault();
  const content = JSON.stringify({ "caf\u00E9": "first", "cafe\u0301": "second" });
  const response = await keep.request("POST", "/import?format=json", { body: { content } });
  expect([response.status, await response.json()]).toEqual([
    200,
    expect.objectContaining({ created: ["/caf\u00E9"], repeated: ["/caf\u00E9"] }),
  ]);
  const [, { value }] = await keep.json("GET", `/values/by-path${encodeURI("/caf\u00E9")}`);
  expect(value).toBe("second");
});

test("a token's path patterns are refused unless they can match stored names", async () => {
  await using keep = await openVault();
  const create = (path: string) =>
    keep.json("POST", "/api/secrets/tokens", { name: "limited", scopes: ["secrets:read"], paths: [path] });
  expect((await create("/cafe\u0301/**"))[0]).toBe(422);
  expect((await create("/caf\u00E9/**"))[0]).toBe(201);
});
