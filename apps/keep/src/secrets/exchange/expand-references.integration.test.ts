import { recordFigure } from "@hearth-and-keep/figures";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestKeep, type TestKeep } from "../../test/start-test-keep.ts";
import { addSecondVault, createFixture, exchangeScopes } from "./test/fixture.ts";

let keep: TestKeep;
beforeAll(async () => {
  keep = await startTestKeep();
});
afterAll(() => keep[Symbol.asyncDispose]());

type Case = {
  readonly rule: string;
  /** In the JSON file format. */
  readonly secrets: Readonly<Record<string, unknown>>;
  /** An invalid value for `/app/URL`. */
  readonly bad: string;
  readonly problem: { readonly code: string; readonly detail: string };
  /** A valid counterpart, and its expansion. */
  readonly good: string;
  readonly expanded: string;
};

const binary = { $type: "binary", base64: "AP8=" };
const cases: readonly Case[] = [
  {
    rule: "a missing reference",
    secrets: { PASSWORD: "p" },
    bad: "x ${/PASSWORT}",
    problem: { code: "reference_missing", detail: expect.stringContaining("${/PASSWORT} in the value of /") },
    good: "x ${/PASSWORD}",
    expanded: "x p",
  },
  {
    rule: "a missing reference behind another reference",
    secrets: { A: "${/gone}", B: "${/C}", C: "c" },
    bad: "${/A}",
    problem: { code: "reference_missing", detail: expect.stringContaining("${/gone} in the value of /") },
    good: "${/B}",
    expanded: "c",
  },
  {
    rule: "a reference to a binary secret",
    secrets: { KEY: binary, LIST: [1, 2] },
    bad: "${/KEY}",
    problem: { code: "reference_missing", detail: expect.stringContaining("${/KEY} in the value of /") },
    good: "${/LIST}",
    expanded: "[1,2]",
  },
  {
    rule: "a reference to a folder",
    secrets: { db: { HOST: "h" } },
    bad: "${/db}",
    problem: { code: "reference_missing", detail: expect.stringContaining("${/db} in the value of /") },
    good: "${/db/HOST}",
    expanded: "h",
  },
  {
    rule: "a reference to itself",
    secrets: {},
    bad: "${/app/URL}",
    problem: { code: "reference_cycle", detail: "/app/URL → /app/URL" },
    good: "$${/app/URL}",
    expanded: "${/app/URL}",
  },
  {
    rule: "two secrets that refer to each other",
    secrets: { A: "${/app/URL}", B: "b" },
    bad: "${/A}",
    problem: { code: "reference_cycle", detail: "/app/URL → /A → /app/URL" },
    good: "${/B}${/B}",
    expanded: "bb",
  },
  {
    rule: "a cycle further along the chain",
    secrets: { A: "${/B}", B: "${/C}", C: "${/B}", D: "${/E}${/F}", E: "${/F}", F: "f" },
    bad: "${/A}",
    problem: { code: "reference_cycle", detail: "/B → /C → /B" },
    good: "${/D}",
    expanded: "ff",
  },
];

test("dangling and circular references are rejected by name on every read path, and their valid counterparts are expanded", async () => {
  for (const { secrets, bad, problem, good, expanded } of cases) {
    const fixture = await createFixture(keep);
    const write = (text: string) =>
      fixture.importFile(JSON.stringify({ ...secrets, app: { URL: text } }), "format=json&mode=overwrite");
    await write(bad);
    const reads = [
      "values?path=/app&expand=references",
      "export?format=json&path=/app&expand=references",
      "values/by-path/app/URL?expand=references",
    ];
    for (const read of reads) {
      expect(await fixture.problem(read)).toMatchObject({ status: 422, ...problem });
    }
    expect(await fixture.values("path=/app")).toEqual({ "/app/URL": bad });
    await write(good);
    expect(await fixture.values("path=/app&expand=references")).toEqual({ "/app/URL": expanded });
    expect(JSON.parse(await fixture.exportFile("format=json&path=/app&expand=references"))).toEqual({
      URL: expanded,
    });
    const single = await fixture.request("values/by-path/app/URL?expand=references");
    expect(await single.json()).toMatchObject({ value: expanded });
  }
  const text = `${cases.length} dangling and circular references rejected by name, and their ${cases.length} valid counterparts expanded`;
  recordFigure({ claim: "keep 18", text, counted: { reached: cases.length, needed: 7 } });
});

test("a value read through a reference is recorded in the audit log of its own vault", async () => {
  const fixture = await createFixture(keep);
  const other = await addSecondVault(keep, fixture);
  await other.importFile('{"PASSWORD": "p", "HOST": "${/NAME}", "NAME": "n"}', "format=json");
  const text = `\${${other.vaultId}:/PASSWORD}@\${${other.vaultId}:/HOST}`;
  await fixture.importFile(JSON.stringify({ URL: text }), "format=json");
  expect(await fixture.values("expand=references")).toEqual({ "/URL": "p@n" });
  const [record, ...more] = (await other.auditEvents()).filter(({ type }) => type === "values-read");
  expect(record?.["secrets"]).toHaveLength(3);
  expect(more).toEqual([]);
});

test("a reference to a secret that the token may not read is reported as missing", async () => {
  const fixture = await createFixture(keep);
  const other = await addSecondVault(keep, fixture);
  await other.importFile("PASSWORD=p", "format=dotenv");
  const text = `\${/open/A} \${/closed/B} \${${other.vaultId}:/PASSWORD}`;
  const file = { app: { URL: text }, open: { A: "a" }, closed: { B: "b" } };
  await fixture.importFile(JSON.stringify(file), "format=json");
  const tokenFor = async (limits: object) =>
    (await keep.addToken(fixture.person, { scopes: [...exchangeScopes], ...limits })).text;
  const byPath = await tokenFor({ paths: ["/app/*", "/open/*"] });
  const byVault = await tokenFor({ vaultIds: [fixture.person.vaultId] });
  const read = "values?path=/app&expand=references";
  expect(await fixture.problem(read, { token: byPath })).toMatchObject({
    detail: expect.stringContaining("${/closed/B} in the value of /"),
  });
  expect(await fixture.problem(read, { token: byVault })).toMatchObject({
    detail: expect.stringContaining(`\${${other.vaultId}:/PASSWORD} in the value of /`),
  });
  expect(await fixture.values("path=/app&expand=references")).toEqual({ "/app/URL": "a b p" });
});

test("a reference cannot read from another account", async () => {
  const fixture = await createFixture(keep);
  const stranger = await createFixture(keep);
  await stranger.importFile("PASSWORD=p", "format=dotenv");
  await fixture.importFile(`URL='\${${stranger.person.vaultId}:/PASSWORD}'`, "format=dotenv");
  expect(await fixture.problem("values?expand=references")).toMatchObject({
    status: 422,
    code: "reference_missing",
  });
  expect(await stranger.auditTypes()).not.toContain("values-read");
});

test("the ETag of expanded values changes with the referenced vault", async () => {
  const fixture = await createFixture(keep);
  const other = await addSecondVault(keep, fixture);
  await other.importFile("A=1", "format=dotenv");
  await fixture.importFile(`URL='\${${other.vaultId}:/A}'`, "format=dotenv");
  const readValues = (tag: string) =>
    fixture.request("values?expand=references", { headers: tag === "" ? {} : { "if-none-match": tag } });
  const tag = (await readValues("")).headers.get("etag") ?? "";
  expect((await readValues(tag)).status).toBe(304);
  await other.importFile("A=2", "format=dotenv&mode=overwrite");
  const changed = await readValues(tag);
  expect([changed.status, await changed.json()]).toMatchObject([200, { items: [{ value: "2" }] }]);
});
