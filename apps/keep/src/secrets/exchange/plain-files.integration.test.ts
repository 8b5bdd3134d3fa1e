import { afterAll, beforeAll, expect, test } from "vitest";
import { type OpenedVault, openVault, startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";

let shared: TestKeep;
beforeAll(async () => {
  shared = await startUnlimitedKeep();
});
afterAll(() => shared[Symbol.asyncDispose]());

const plain = { "content-type": "text/plain" };
const fileText = "A=1\nB='two words'\n# comment\nC=\"line\\nbreak\"\n";

/** The status and the fields of the report or of the problem. */
async function importText(
  keep: OpenedVault,
  body: string,
  {
    query = "",
    headers = plain,
  }: { readonly query?: string; readonly headers?: Record<string, string> } = {},
) {
  const response = await keep.request("POST", `/import${query}`, { body, headers });
  // A report or a problem document.
  const { created, errors, code } = (await response.json()) as {
    readonly created?: readonly string[];
    readonly errors?: readonly { readonly reason: string }[];
    readonly code?: string;
  };
  return { status: response.status, created, code, reasons: errors?.map(({ reason }) => reason) };
}

test("a .env file that curl sends without a type is imported too, and JSON of that type is JSON", async () => {
  await using keep = await openVault(shared);
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const sent = await importText(keep, "A=1&B=2\n", { headers });
  expect(sent).toMatchObject({ status: 200, created: ["/A"] });
  const json = JSON.stringify({ content: "C=3\n" });
  expect(await importText(keep, json, { headers, query: "?format=dotenv" })).toMatchObject({
    created: ["/C"],
  });
});

test("a .env file is imported as it is and exported as it is", async () => {
  await using keep = await openVault(shared);
  const imported = await importText(keep, fileText, { query: "?path=/app" });
  expect(imported).toMatchObject({ status: 200, created: ["/app/A", "/app/B", "/app/C"] });
  const response = await keep.request("GET", "/export?path=/app", { headers: { accept: "text/plain" } });
  expect([response.headers.get("content-type"), response.headers.get("vary")]).toEqual([
    "text/plain; charset=utf-8",
    "accept",
  ]);
  expect(await response.text()).toBe("A=1\nB='two words'\nC='line\nbreak'\n");
});

test("JSON stays the default of both, whatever type a client gives its JSON", async () => {
  await using keep = await openVault(shared);
  const envelope = JSON.stringify({ content: "A=1\n" });
  for (const headers of [
    { "content-type": "application/json" },
    plain,
    { "content-type": "text/plain;charset=UTF-8" },
  ]) {
    expect((await importText(keep, ` ${envelope}`, { headers })).status).toBe(200);
  }
  for (const accept of ["*/*", "application/json", "application/json, text/plain, */*", "text/html"]) {
    const response = await keep.request("GET", "/export", { headers: { accept } });
    expect([accept, await response.json()]).toEqual([
      accept,
      expect.objectContaining({ content: "A=1\n", format: "dotenv" }),
    ]);
  }
});

test("a text is a file only where a file is expected", async () => {
  await using keep = await openVault(shared);
  const response = await keep.request("PUT", "/secrets/by-path/A", { body: "A=1", headers: plain });
  expect(response.status).toBe(400);
  expect((await importText(keep, "A=1", { headers: { "content-type": "text/csv" } })).status).toBe(400);
  const secret = await keep.request("PUT", "/secrets/by-path/A", { body: '{"value":"x"}', headers: plain });
  expect(secret.status).toBe(201);
});

test("a hostile .env file is rejected whole, quickly, and without its values in the answer", async () => {
  await using keep = await openVault(shared);
  const canary = "canary-value";
  const quotes = "\"'".repeat(500_000);
  for (const [what, body, status] of [
    ["too many names", Array.from({ length: 1001 }, (_each, index) => `N${index}=${canary}\n`).join(""), 422],
    ["too long", `A=${"x".repeat(2 * 1024 * 1024)}\n`, 413],
    ["a value above the limit", `A=${"x".repeat(1_048_577)}\n`, 422],
    ["an open quote", `A="${canary}\n${"B=1\n".repeat(1000)}`, 422],
    ["an open quote after many lines", `${"A='1'\n".repeat(100_000)}B='${canary}`, 422],
    ["only quotes", `A=${quotes}`, 422],
    ["many backslashes", `A="${"\\".repeat(1_000_001)}`, 422],
    ["a null character", `A=${canary}\0`, 422],
    ["no name", `=${canary}`, 422],
    ["an invalid name", `../evil=${canary}`, 422],
  ] as const) {
    const outcome = await importText(keep, body);
    expect([what, outcome.status]).toEqual([what, status]);
    expect(JSON.stringify(outcome)).not.toContain(canary);
  }
  const bytes = Buffer.from([0x41, 0x3d, 0xff, 0xfe]);
  const invalid = await fetch(new URL(`/api/secrets/vaults/${keep.person.vaultId}/import`, keep.url), {
    method: "POST",
    body: bytes,
    headers: { ...plain, authorization: `Bearer ${keep.token.text}` },
  });
  expect(invalid.status).toBe(400);
  expect((await keep.json("GET", "/secrets"))[1].items).toEqual([]);
});

test("of a name that is repeated very often the last value counts, and the report stays small", async () => {
  await using keep = await openVault(shared);
  const response = await keep.request("POST", "/import", {
    body: `${"A=1\n".repeat(200_000)}A=2\n`,
    headers: plain,
  });
  const text = await response.text();
  expect([response.status, text.length < 2000]).toEqual([200, true]);
  expect((await keep.json("GET", "/values/by-path/A"))[1].value).toBe("2");
});

test("an export with names has only these secrets of the folder", async () => {
  await using keep = await openVault(shared);
  await importText(keep, "A=1\nB=2\nC=3\n", { query: "?path=/app" });
  const exportText = async (query: string) => {
    const response = await keep.request("GET", `/export?${query}`, { headers: { accept: "text/plain" } });
    return [response.status, response.status === 200 ? await response.text() : ""];
  };
  expect(await exportText("path=/app&names=A,C,MISSING")).toEqual([200, "A=1\nC=3\n"]);
  expect((await exportText("path=/app&names="))[0]).toBe(422);
});
