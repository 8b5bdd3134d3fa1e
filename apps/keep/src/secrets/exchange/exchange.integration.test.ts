import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { resealVaults } from "../../test/reseal-vaults.ts";
import { startTestKeep, type TestKeep } from "../../test/start-test-keep.ts";
import { createFixture as createFixtureIn, exchangeScopes, type VaultFixture } from "./test/fixture.ts";

let keep: TestKeep;
beforeAll(async () => {
  keep = await startTestKeep();
});
afterAll(() => keep[Symbol.asyncDispose]());

/** A new account for each test. */
function createFixture(): Promise<VaultFixture> {
  return createFixtureIn(keep);
}

describe("an import", () => {
  test("reports in a dry run what it then does, with one record per secret", async () => {
    const fixture = await createFixture();
    const content = "A=1\nexport B='two'\nC=\nA=3\n";
    const dry = await fixture.importFile(content, "format=dotenv&path=/app&dry_run=true");
    expect(dry).toEqual({
      dry_run: true,
      revision: expect.any(Number),
      created: ["/app/A", "/app/B", "/app/C"],
      changed: [],
      unchanged: [],
      skipped: [],
      repeated: ["/app/A"],
    });
    expect(await fixture.values("path=/app")).toEqual({});
    expect(await fixture.importFile(content, "format=dotenv&path=/app")).toEqual({ ...dry, dry_run: false });
    expect(await fixture.values("path=/app")).toEqual({ "/app/A": "3", "/app/B": "two", "/app/C": "" });
    const events = await fixture.auditTypes();
    expect(events.filter((type) => type === "secret-written")).toHaveLength(3);
    expect(events.filter((type) => type === "values-imported")).toHaveLength(1);
  });

  test("skips existing secrets or overwrites changed ones, depending on the mode", async () => {
    const fixture = await createFixture();
    await fixture.importFile('{"A": "1", "B": "2", "N": 1}', "format=json");
    const content = '{"A": "1", "B": "3", "C": "4", "N": "1"}';
    expect(await fixture.importFile(content, "format=json&mode=create")).toMatchObject({
      created: ["/C"],
      skipped: ["/A", "/B", "/N"],
    });
    expect(await fixture.importFile(content, "format=json&mode=overwrite&dry_run=true")).toMatchObject({
      changed: ["/B", "/N"],
      unchanged: ["/A", "/C"],
    });
    expect(await fixture.importFile(content, "format=json&mode=overwrite")).toMatchObject({
      changed: ["/B", "/N"],
      unchanged: ["/A", "/C"],
    });
    expect(await fixture.values("")).toEqual({ "/A": "1", "/B": "3", "/C": "4", "/N": "1" });
  });

  test("by a token without secrets:read does not reveal whether a value is unchanged", async () => {
    const fixture = await createFixture();
    await fixture.importFile("A=1\n", "format=dotenv");
    const { text } = await keep.addToken(fixture.person, { scopes: ["secrets:write"] });
    const guess = (content: string) =>
      fixture.request("import?format=dotenv&mode=overwrite&dry_run=true", { token: text, body: { content } });
    const [right, wrong] = [await guess("A=1"), await guess("A=2")];
    expect([await right.json(), await wrong.json()]).toMatchObject([
      { changed: ["/A"] },
      { changed: ["/A"] },
    ]);
  });

  test("is all or nothing", async () => {
    const fixture = await createFixture();
    const tooLong = JSON.stringify({ A: "1", B: "x".repeat(64 * 1024 + 1) });
    expect(await fixture.problem("import?format=json", { body: { content: tooLong } })).toEqual({
      status: 422,
      code: "validation_failed",
      errors: [{ place: "content./B", reason: expect.stringContaining("65536") }],
    });
    await keep.database.inAccount(fixture.person.accountId, (transaction) =>
      transaction.query({
        text: "UPDATE vault SET most_versions = 1, prunes_versions = false WHERE id = $1",
        values: [fixture.person.vaultId],
      }),
    );
    await resealVaults(keep, fixture.person);
    await fixture.importFile("Z=1", "format=dotenv");
    const full = { body: { content: "A=1\nZ=2" } };
    for (const query of ["", "&dry_run=true"]) {
      expect(await fixture.problem(`import?format=dotenv&mode=overwrite${query}`, full)).toMatchObject({
        status: 409,
        code: "versions_full",
      });
    }
    expect(await fixture.values("")).toEqual({ "/Z": "1" });
  });

  test("honours If-Match, and takes effect once per Idempotency-Key", async () => {
    const fixture = await createFixture();
    const { revision } = await fixture.importFile("A=1", "format=dotenv");
    const body = { content: "A=2\nB=1" };
    const path = "import?format=dotenv&mode=overwrite";
    const stale = { body, headers: { "if-match": `"${Number(revision) - 1}"` } };
    expect(await fixture.problem(path, stale)).toMatchObject({ status: 412 });
    const headers = { "if-match": `"${String(revision)}"`, "idempotency-key": "import-1" };
    const first = await fixture.request(path, { body, headers });
    const again = await fixture.request(path, { body, headers });
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(await again.json()).toEqual(await first.json());
    expect((await fixture.auditTypes()).filter((type) => type === "values-imported")).toHaveLength(2);
    const other = { body: { content: "A=9" }, headers };
    expect(await fixture.problem(path, other)).toMatchObject({ status: 422, code: "idempotency_mismatch" });
  });

  test("is limited to the token's paths", async () => {
    const fixture = await createFixture();
    const { text: token } = await keep.addToken(fixture.person, {
      scopes: [...exchangeScopes],
      paths: ["/app/**"],
    });
    const body = { content: "A=1" };
    expect(await fixture.problem("import?format=dotenv", { token, body })).toMatchObject({
      status: 403,
      code: "out_of_reach",
    });
    expect((await fixture.request("import?format=dotenv&path=/app", { token, body })).status).toBe(200);
  });

  test("accepts a thousand secrets and rejects one more", async () => {
    const fixture = await createFixture();
    const lines = Array.from({ length: 1001 }, (_line, index) => `K${index}=${index}\n`);
    const refused = await fixture.problem("import?format=dotenv", { body: { content: lines.join("") } });
    expect(refused).toMatchObject({ status: 422, errors: [{ place: "content" }] });
    const done = await fixture.importFile(lines.slice(1).join(""), "format=dotenv");
    expect(done["created"]).toHaveLength(1000);
    expect(Object.keys(await fixture.values(""))).toHaveLength(1000);
  });
});

describe("reading many values", () => {
  test("selects by folder, subfolders and names", async () => {
    const fixture = await createFixture();
    const file = { A: "1", f: { B: "2", g: { A: "3", N: 4, F: { $type: "file", base64: "AP8=" } } } };
    await fixture.importFile(JSON.stringify(file), "format=json");
    expect(await fixture.values("")).toEqual({ "/A": "1" });
    expect(await fixture.values("path=/f&recursive=true")).toEqual({
      "/f/B": "2",
      "/f/g/A": "3",
      "/f/g/N": "4",
      "/f/g/F": "AP8=",
    });
    expect(await fixture.values("recursive=true&names=A,N")).toEqual({
      "/A": "1",
      "/f/g/A": "3",
      "/f/g/N": "4",
    });
    const response = await fixture.request("values?path=/f/g&names=F");
    expect(await response.json()).toEqual({
      revision: expect.any(Number),
      items: [
        {
          id: expect.any(String),
          path: "/f/g/F",
          name: "F",
          version: 1,
          type: "file",
          value: "AP8=",
          encoding: "base64",
        },
      ],
    });
  });

  test("returns the secrets with these ids, of those in the folder", async () => {
    const fixture = await createFixture();
    await fixture.importFile('{"A": "1", "B": "2", "f": {"A": "3", "B": "4"}}', "format=json");
    const ids = await idsByPath(fixture);
    const some = `${ids["/A"]},${ids["/f/B"]}`;
    expect(await fixture.values(`recursive=true&ids=${some}`)).toEqual({ "/A": "1", "/f/B": "4" });
    expect(await fixture.values(`ids=${some}`)).toEqual({ "/A": "1" });
    expect(await fixture.values(`recursive=true&names=A&ids=${some}`)).toEqual({ "/A": "1" });
    expect(await fixture.values(`ids=${crypto.randomUUID()}`)).toEqual({});
    const events = (await fixture.auditEvents()).filter(({ type }) => type === "values-read");
    expect(events[1]).toMatchObject({ path: "/", secrets: [`${ids["/A"]}@1`, `${ids["/f/B"]}@1`] });
    expect(events.at(-1)).toMatchObject({ path: "/", secrets: [] });
  });

  test("as a map has the values of one folder by name, and says which are in base64", async () => {
    const fixture = await createFixture();
    const file = { A: "1", f: { A: "2", __proto: "3", F: { $type: "file", base64: "AP8=" } } };
    await fixture.importFile(JSON.stringify(file).replace("__proto", "__proto__"), "format=json");
    const response = await fixture.request("values?path=/f&as=map");
    expect(await response.text()).toMatch(
      /^\{"revision":\d+,"values":\{"A":"2","F":"AP8=","__proto__":"3"\},"base64":\["F"\]\}$/u,
    );
    const headers = { "if-none-match": response.headers.get("etag") ?? "" };
    expect((await fixture.request("values?path=/f&as=map", { headers })).status).toBe(304);
    expect((await fixture.request("values?path=/f", { headers })).status).toBe(200);
    for (const field of ["recursive=true", `ids=${someIds(1)}`]) {
      expect(await fixture.problem(`values?as=map&${field}`)).toMatchObject({
        status: 422,
        errors: [{ place: field.split("=", 1)[0], reason: "must be absent with as=map" }],
      });
    }
  });

  test("the tag of a response is of its ids, too", async () => {
    const fixture = await createFixture();
    await fixture.importFile("A=1\nB=2", "format=dotenv");
    const ids = await idsByPath(fixture);
    const tag = (await fixture.request(`values?ids=${ids["/A"]}`)).headers.get("etag") ?? "";
    const read = (id = "") => fixture.request(`values?ids=${id}`, { headers: { "if-none-match": tag } });
    expect((await read(ids["/A"])).status).toBe(304);
    expect((await read(ids["/B"])).status).toBe(200);
  });

  test("accepts 100 ids, and rejects more, other text, and ids with inherit", async () => {
    const fixture = await createFixture();
    expect((await fixture.request(`values?ids=${someIds(100)}`)).status).toBe(200);
    for (const query of [someIds(101), "A", `${someIds(1)},`, `${someIds(1)}&inherit=true`]) {
      expect(await fixture.problem(`values?ids=${query}`)).toMatchObject({
        status: 422,
        errors: [{ place: "ids", reason: expect.stringMatching(/^must be/u) }],
      });
    }
  });

  test("a null character in a name is rejected, not an internal error", async () => {
    const fixture = await createFixture();
    for (const name of ["%00", "A,%00B", "%1F"]) {
      expect(await fixture.problem(`values?names=${name}`)).toMatchObject({
        status: 422,
        code: "validation_failed",
      });
    }
    expect((await fixture.request("values?names=caf%C3%A9")).status).toBe(200);
  });

  test("returns 304 without decrypting or recording while nothing has changed", async () => {
    const fixture = await createFixture();
    await fixture.importFile("A=1", "format=dotenv");
    const first = await fixture.request("values");
    const tag = first.headers.get("etag") ?? "";
    expect(tag).toMatch(/^"v\d+-[\w-]{22}"$/);
    const before = await fixture.auditTypes();
    const again = await fixture.request("values", { headers: { "if-none-match": tag } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    expect(await fixture.auditTypes()).toEqual(before);
    const others = await fixture.request("values?recursive=true", { headers: { "if-none-match": tag } });
    expect(others.status).toBe(200);
    const { text: token } = await keep.addToken(fixture.person, {
      scopes: [...exchangeScopes],
      paths: ["/A"],
    });
    expect((await fixture.request("values", { token, headers: { "if-none-match": tag } })).status).toBe(200);
    await fixture.importFile("B=1", "format=dotenv");
    expect((await fixture.request("values", { headers: { "if-none-match": tag } })).status).toBe(200);
  });

  test("records one event that lists every value", async () => {
    const fixture = await createFixture();
    await fixture.importFile("A=1\nB=2", "format=dotenv&path=/app");
    const response = await fixture.request("values?path=/app");
    // Checked against its schema by the test above.
    const { items } = (await response.json()) as { items: { id: string }[] };
    expect((await fixture.auditEvents()).filter(({ type }) => type === "values-read")).toEqual([
      expect.objectContaining({ path: "/app", secrets: items.map(({ id }) => `${id}@1`) }),
    ]);
  });

  test("returns only what the token's paths allow, and rejects other folders", async () => {
    const fixture = await createFixture();
    await fixture.importFile('{"app": {"A": "1"}, "other": {"B": "2"}}', "format=json");
    const { text: token } = await keep.addToken(fixture.person, {
      scopes: [...exchangeScopes],
      paths: ["/app/*"],
    });
    expect(await fixture.values("recursive=true", token)).toEqual({ "/app/A": "1" });
    expect(await fixture.problem("values?path=/other", { token })).toMatchObject({ status: 403 });
    const ids = Object.values(await idsByPath(fixture)).join(",");
    expect(await fixture.values(`recursive=true&ids=${ids}`)).toEqual({ "/app/A": "1", "/other/B": "2" });
    expect(await fixture.values(`recursive=true&ids=${ids}`, token)).toEqual({ "/app/A": "1" });
    expect((await fixture.auditEvents()).at(-1)).toMatchObject({ secrets: [expect.any(String)] });
  });

  test("rejects more than 4 MiB and says how to narrow the selection", async () => {
    const fixture = await createFixture();
    const mebibyte = Buffer.alloc(1024 * 1024, 1).toString("base64");
    for (const name of ["A", "B", "C", "D"]) {
      const content = JSON.stringify({ [name]: { $type: "file", base64: mebibyte } });
      await fixture.importFile(content, "format=json");
    }
    expect(await fixture.problem("values")).toMatchObject({
      status: 422,
      errors: [{ place: "path", reason: expect.stringContaining("narrow it by path or names") }],
    });
    expect(Object.keys(await fixture.values("names=A,B"))).toEqual(["/A", "/B"]);
  });
});

describe("an export", () => {
  test("returns a folder as a file, and is recorded", async () => {
    const fixture = await createFixture();
    await fixture.importFile('{"A": "1", "f": {"B": "it\'s", "N": [1]}}', "format=json");
    expect(await fixture.exportFile("format=dotenv&path=/f")).toBe(`B="it's"\nN='[1]'\n`);
    expect(JSON.parse(await fixture.exportFile("format=json&recursive=true"))).toEqual({
      A: "1",
      f: { B: "it's", N: [1] },
    });
    expect((await fixture.auditTypes()).filter((type) => type === "values-exported")).toHaveLength(2);
  });

  test("lists the secrets that a .env file cannot represent", async () => {
    const fixture = await createFixture();
    await fixture.importFile('{"a-b": "hunter2", "F": {"$type": "file", "base64": "AP8="}}', "format=json");
    expect(await fixture.problem("export?format=dotenv")).toMatchObject({
      status: 422,
      errors: [{ place: "/F" }, { place: "/a-b" }],
    });
  });
});

async function idsByPath(fixture: VaultFixture): Promise<Readonly<Record<string, string>>> {
  const response = await fixture.request("values?recursive=true");
  // The response schema.
  const { items } = (await response.json()) as { items: { id: string; path: string }[] };
  return Object.fromEntries(items.map(({ id, path }) => [path, id]));
}

function someIds(count: number): string {
  return Array.from({ length: count }, () => crypto.randomUUID()).join(",");
}
