import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestKeep, type TestKeep } from "../../test/start-test-keep.ts";
import { everything, type Stage, setStage as setStageIn } from "./test/fixture.ts";

let keep: TestKeep;
beforeAll(async () => {
  keep = await startTestKeep();
});
afterAll(() => keep[Symbol.asyncDispose]());

/** Somebody new for each test. */
function setStage(): Promise<Stage> {
  return setStageIn(keep);
}

describe("an import", () => {
  test("tells what it would do, then does it, in one revision and one record for each secret", async () => {
    const stage = await setStage();
    const content = "A=1\nexport B='two'\nC=\nA=3\n";
    const dry = await stage.importFile(content, "format=dotenv&path=/app&dry_run=true");
    expect(dry).toEqual({
      dry_run: true,
      revision: expect.any(Number),
      created: ["/app/A", "/app/B", "/app/C"],
      changed: [],
      unchanged: [],
      skipped: [],
      repeated: ["/app/A"],
    });
    expect(await stage.values("path=/app")).toEqual({});
    expect(await stage.importFile(content, "format=dotenv&path=/app")).toEqual({ ...dry, dry_run: false });
    expect(await stage.values("path=/app")).toEqual({ "/app/A": "3", "/app/B": "two", "/app/C": "" });
    const events = await stage.events();
    expect(events.filter((type) => type === "secret-written")).toHaveLength(3);
    expect(events.filter((type) => type === "values-imported")).toHaveLength(1);
  });

  test("leaves alone what is there, or overwrites what is another, as it is asked", async () => {
    const stage = await setStage();
    await stage.importFile('{"A": "1", "B": "2", "N": 1}', "format=json");
    const content = '{"A": "1", "B": "3", "C": "4", "N": "1"}';
    expect(await stage.importFile(content, "format=json&mode=create")).toMatchObject({
      created: ["/C"],
      skipped: ["/A", "/B", "/N"],
    });
    expect(await stage.importFile(content, "format=json&mode=overwrite&dry_run=true")).toMatchObject({
      changed: ["/B", "/N"],
      unchanged: ["/A", "/C"],
    });
    expect(await stage.importFile(content, "format=json&mode=overwrite")).toMatchObject({
      changed: ["/B", "/N"],
      unchanged: ["/A", "/C"],
    });
    expect(await stage.values("")).toEqual({ "/A": "1", "/B": "3", "/C": "4", "/N": "1" });
  });

  test("by a token that may not read never tells whether a value is the same", async () => {
    const stage = await setStage();
    await stage.importFile("A=1\n", "format=dotenv");
    const { text } = await keep.addToken(stage.person, { scopes: ["secrets:write"] });
    const guess = (content: string) =>
      stage.ask("import?format=dotenv&mode=overwrite&dry_run=true", { token: text, body: { content } });
    const [right, wrong] = [await guess("A=1"), await guess("A=2")];
    expect([await right.json(), await wrong.json()]).toMatchObject([
      { changed: ["/A"] },
      { changed: ["/A"] },
    ]);
  });

  test("that cannot be done whole is not done at all", async () => {
    const stage = await setStage();
    const tooLong = JSON.stringify({ A: "1", B: "x".repeat(64 * 1024 + 1) });
    expect(await stage.refusal("import?format=json", { body: { content: tooLong } })).toEqual({
      status: 422,
      code: "validation_failed",
      errors: [{ place: "content./B", reason: expect.stringContaining("65536") }],
    });
    await keep.database.inAccount(stage.person.accountId, (transaction) =>
      transaction.query({
        text: "UPDATE vault SET most_versions = 1 WHERE id = $1",
        values: [stage.person.vaultId],
      }),
    );
    await stage.importFile("Z=1", "format=dotenv");
    const full = { body: { content: "A=1\nZ=2" } };
    for (const query of ["", "&dry_run=true"]) {
      expect(await stage.refusal(`import?format=dotenv&mode=overwrite${query}`, full)).toMatchObject({
        status: 409,
        code: "versions_full",
      });
    }
    expect(await stage.values("")).toEqual({ "/Z": "1" });
  });

  test("holds to the revision it was made for, and happens once for one Idempotency-Key", async () => {
    const stage = await setStage();
    const { revision } = await stage.importFile("A=1", "format=dotenv");
    const body = { content: "A=2\nB=1" };
    const path = "import?format=dotenv&mode=overwrite";
    const stale = { body, headers: { "if-match": `"${Number(revision) - 1}"` } };
    expect(await stage.refusal(path, stale)).toMatchObject({ status: 412 });
    const headers = { "if-match": `"${String(revision)}"`, "idempotency-key": "import-1" };
    const first = await stage.ask(path, { body, headers });
    const again = await stage.ask(path, { body, headers });
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(await again.json()).toEqual(await first.json());
    expect((await stage.events()).filter((type) => type === "values-imported")).toHaveLength(2);
    const other = { body: { content: "A=9" }, headers };
    expect(await stage.refusal(path, other)).toMatchObject({ status: 422, code: "idempotency_mismatch" });
  });

  test("of a path that the token does not reach is refused, and of one that it reaches is not", async () => {
    const stage = await setStage();
    const { text: token } = await keep.addToken(stage.person, {
      scopes: [...everything],
      paths: ["/app/**"],
    });
    const body = { content: "A=1" };
    expect(await stage.refusal("import?format=dotenv", { token, body })).toMatchObject({
      status: 403,
      code: "out_of_reach",
    });
    expect((await stage.ask("import?format=dotenv&path=/app", { token, body })).status).toBe(200);
  });

  test("of a thousand secrets is done and of one more is refused", async () => {
    const stage = await setStage();
    const lines = Array.from({ length: 1001 }, (_line, index) => `K${index}=${index}\n`);
    const refused = await stage.refusal("import?format=dotenv", { body: { content: lines.join("") } });
    expect(refused).toMatchObject({ status: 422, errors: [{ place: "content" }] });
    const done = await stage.importFile(lines.slice(1).join(""), "format=dotenv");
    expect(done["created"]).toHaveLength(1000);
    expect(Object.keys(await stage.values(""))).toHaveLength(1000);
  });
});

describe("many values in one answer", () => {
  test("are those of a folder, of what is in it, or of some names, and say what they are", async () => {
    const stage = await setStage();
    const file = { A: "1", f: { B: "2", g: { A: "3", N: 4, F: { $type: "file", base64: "AP8=" } } } };
    await stage.importFile(JSON.stringify(file), "format=json");
    expect(await stage.values("")).toEqual({ "/A": "1" });
    expect(await stage.values("path=/f&recursive=true")).toEqual({
      "/f/B": "2",
      "/f/g/A": "3",
      "/f/g/N": "4",
      "/f/g/F": "AP8=",
    });
    expect(await stage.values("recursive=true&names=A,N")).toEqual({
      "/A": "1",
      "/f/g/A": "3",
      "/f/g/N": "4",
    });
    const response = await stage.ask("values?path=/f/g&names=F");
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

  test("are not sent again as long as nothing changed, and nothing is opened or recorded for that", async () => {
    const stage = await setStage();
    await stage.importFile("A=1", "format=dotenv");
    const first = await stage.ask("values");
    const tag = first.headers.get("etag") ?? "";
    expect(tag).toMatch(/^"v\d+-[\w-]{22}"$/);
    const before = await stage.events();
    const again = await stage.ask("values", { headers: { "if-none-match": tag } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    expect(await stage.events()).toEqual(before);
    const others = await stage.ask("values?recursive=true", { headers: { "if-none-match": tag } });
    expect(others.status).toBe(200);
    const { text: token } = await keep.addToken(stage.person, { scopes: [...everything], paths: ["/A"] });
    expect((await stage.ask("values", { token, headers: { "if-none-match": tag } })).status).toBe(200);
    await stage.importFile("B=1", "format=dotenv");
    expect((await stage.ask("values", { headers: { "if-none-match": tag } })).status).toBe(200);
  });

  test("leave after one record that names each of them", async () => {
    const stage = await setStage();
    await stage.importFile("A=1\nB=2", "format=dotenv&path=/app");
    const response = await stage.ask("values?path=/app");
    // Checked against its schema by the test above.
    const { items } = (await response.json()) as { items: { id: string }[] };
    expect((await stage.bodies()).filter(({ type }) => type === "values-read")).toEqual([
      expect.objectContaining({ path: "/app", secrets: items.map(({ id }) => `${id}@1`) }),
    ]);
  });

  test("are only those that the token reaches, and a folder that it does not reach into is refused", async () => {
    const stage = await setStage();
    await stage.importFile('{"app": {"A": "1"}, "other": {"B": "2"}}', "format=json");
    const { text: token } = await keep.addToken(stage.person, { scopes: [...everything], paths: ["/app/*"] });
    expect(await stage.values("recursive=true", token)).toEqual({ "/app/A": "1" });
    expect(await stage.refusal("values?path=/other", { token })).toMatchObject({ status: 403 });
  });

  test("that would be more than four MiB are refused with the way to narrow them", async () => {
    const stage = await setStage();
    const mebibyte = Buffer.alloc(1024 * 1024, 1).toString("base64");
    for (const name of ["A", "B", "C", "D"]) {
      const content = JSON.stringify({ [name]: { $type: "file", base64: mebibyte } });
      await stage.importFile(content, "format=json");
    }
    expect(await stage.refusal("values")).toMatchObject({
      status: 422,
      errors: [{ place: "path", reason: expect.stringContaining("narrow it by path or names") }],
    });
    expect(Object.keys(await stage.values("names=A,B"))).toEqual(["/A", "/B"]);
  });
});

describe("an export", () => {
  test("gives a folder as a file, and is in the audit log", async () => {
    const stage = await setStage();
    await stage.importFile('{"A": "1", "f": {"B": "it\'s", "N": [1]}}', "format=json");
    expect(await stage.exportFile("format=dotenv&path=/f")).toBe(`B="it's"\nN='[1]'\n`);
    expect(JSON.parse(await stage.exportFile("format=json&recursive=true"))).toEqual({
      A: "1",
      f: { B: "it's", N: [1] },
    });
    expect((await stage.events()).filter((type) => type === "values-exported")).toHaveLength(2);
  });

  test("refuses by name what has no place in a .env file", async () => {
    const stage = await setStage();
    await stage.importFile('{"a-b": "hunter2", "F": {"$type": "file", "base64": "AP8="}}', "format=json");
    expect(await stage.refusal("export?format=dotenv")).toMatchObject({
      status: 422,
      errors: [{ place: "/F" }, { place: "/a-b" }],
    });
  });
});
