import { recordFigure } from "@hearth-and-keep/figures";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestKeep, type TestKeep } from "../../test/start-test-keep.ts";
import { everything, setSecondStage, setStage } from "./test/fixture.ts";

let keep: TestKeep;
beforeAll(async () => {
  keep = await startTestKeep();
});
afterAll(() => keep[Symbol.asyncDispose]());

type Case = {
  readonly rule: string;
  /** As JSON files know them. */
  readonly secrets: Readonly<Record<string, unknown>>;
  /** What `/app/URL` says. */
  readonly bad: string;
  readonly refused: { readonly code: string; readonly detail: string };
  /** What it says in the twin, and what that gives. */
  readonly good: string;
  readonly given: string;
};

const binary = { $type: "binary", base64: "AP8=" };
const cases: readonly Case[] = [
  {
    rule: "a reference that names nothing",
    secrets: { PASSWORD: "p" },
    bad: "x ${/PASSWORT}",
    refused: { code: "reference_missing", detail: '"${/PASSWORT}"' },
    good: "x ${/PASSWORD}",
    given: "x p",
  },
  {
    rule: "a reference that another reference leads to and that names nothing",
    secrets: { A: "${/gone}", B: "${/C}", C: "c" },
    bad: "${/A}",
    refused: { code: "reference_missing", detail: '"${/gone}"' },
    good: "${/B}",
    given: "c",
  },
  {
    rule: "a reference to something binary",
    secrets: { KEY: binary, LIST: [1, 2] },
    bad: "${/KEY}",
    refused: { code: "reference_missing", detail: '"${/KEY}"' },
    good: "${/LIST}",
    given: "[1,2]",
  },
  {
    rule: "a reference to a folder",
    secrets: { db: { HOST: "h" } },
    bad: "${/db}",
    refused: { code: "reference_missing", detail: '"${/db}"' },
    good: "${/db/HOST}",
    given: "h",
  },
  {
    rule: "a reference to itself",
    secrets: {},
    bad: "${/app/URL}",
    refused: { code: "reference_cycle", detail: "/app/URL → /app/URL" },
    good: "$${/app/URL}",
    given: "${/app/URL}",
  },
  {
    rule: "two that lead to each other",
    secrets: { A: "${/app/URL}", B: "b" },
    bad: "${/A}",
    refused: { code: "reference_cycle", detail: "/app/URL → /A → /app/URL" },
    good: "${/B}${/B}",
    given: "bb",
  },
  {
    rule: "a circle further on",
    secrets: { A: "${/B}", B: "${/C}", C: "${/B}", D: "${/E}${/F}", E: "${/F}", F: "f" },
    bad: "${/A}",
    refused: { code: "reference_cycle", detail: "/B → /C → /B" },
    good: "${/D}",
    given: "ff",
  },
];

test("dangling and circular references are refused by name on every way to a value, and their good twins are resolved", async () => {
  for (const { secrets, bad, refused, good, given } of cases) {
    const stage = await setStage(keep);
    const write = (text: string) =>
      stage.importFile(JSON.stringify({ ...secrets, app: { URL: text } }), "format=json&mode=overwrite");
    await write(bad);
    const ways = [
      "values?path=/app&expand=references",
      "export?format=json&path=/app&expand=references",
      "values/by-path/app/URL?expand=references",
    ];
    for (const way of ways) {
      expect(await stage.refusal(way)).toMatchObject({ status: 422, ...refused });
    }
    expect(await stage.values("path=/app")).toEqual({ "/app/URL": bad });
    await write(good);
    expect(await stage.values("path=/app&expand=references")).toEqual({ "/app/URL": given });
    expect(JSON.parse(await stage.exportFile("format=json&path=/app&expand=references"))).toEqual({
      URL: given,
    });
    const single = await stage.ask("values/by-path/app/URL?expand=references");
    expect(await single.json()).toMatchObject({ value: given });
  }
  const text = `${cases.length} dangling and circular references refused by name, and their ${cases.length} good twins resolved`;
  recordFigure({ claim: "keep 18", text, counted: { reached: cases.length, needed: 7 } });
});

test("a reference into another vault is read there, and stands in that vault's audit log before anything leaves", async () => {
  const stage = await setStage(keep);
  const other = await setSecondStage(keep, stage);
  await other.importFile('{"PASSWORD": "p", "HOST": "${/NAME}", "NAME": "n"}', "format=json");
  const text = `\${${other.vaultId}:/PASSWORD}@\${${other.vaultId}:/HOST}`;
  await stage.importFile(JSON.stringify({ URL: text }), "format=json");
  expect(await stage.values("expand=references")).toEqual({ "/URL": "p@n" });
  const [record, ...more] = (await other.bodies()).filter(({ type }) => type === "values-read");
  expect(record?.["secrets"]).toHaveLength(3);
  expect(more).toEqual([]);
});

test("a reference to what the token does not reach names nothing, and one to what it reaches is read", async () => {
  const stage = await setStage(keep);
  const other = await setSecondStage(keep, stage);
  await other.importFile("PASSWORD=p", "format=dotenv");
  const text = `\${/open/A} \${/closed/B} \${${other.vaultId}:/PASSWORD}`;
  const file = { app: { URL: text }, open: { A: "a" }, closed: { B: "b" } };
  await stage.importFile(JSON.stringify(file), "format=json");
  const tokenFor = async (limits: object) =>
    (await keep.addToken(stage.person, { scopes: [...everything], ...limits })).text;
  const byPath = await tokenFor({ paths: ["/app/*", "/open/*"] });
  const byVault = await tokenFor({ vaultIds: [stage.person.vaultId] });
  const way = "values?path=/app&expand=references";
  expect(await stage.refusal(way, { token: byPath })).toMatchObject({ detail: '"${/closed/B}"' });
  expect(await stage.refusal(way, { token: byVault })).toMatchObject({
    detail: `"\${${other.vaultId}:/PASSWORD}"`,
  });
  expect(await stage.values("path=/app&expand=references")).toEqual({ "/app/URL": "a b p" });
});

test("an account refers to nothing of another account", async () => {
  const stage = await setStage(keep);
  const stranger = await setStage(keep);
  await stranger.importFile("PASSWORD=p", "format=dotenv");
  await stage.importFile(`URL='\${${stranger.person.vaultId}:/PASSWORD}'`, "format=dotenv");
  expect(await stage.refusal("values?expand=references")).toMatchObject({
    status: 422,
    code: "reference_missing",
  });
  expect(await stranger.events()).not.toContain("values-read");
});

test("what is tagged as unchanged with references changes with the vault that they lead to", async () => {
  const stage = await setStage(keep);
  const other = await setSecondStage(keep, stage);
  await other.importFile("A=1", "format=dotenv");
  await stage.importFile(`URL='\${${other.vaultId}:/A}'`, "format=dotenv");
  const ask = (tag: string) =>
    stage.ask("values?expand=references", { headers: tag === "" ? {} : { "if-none-match": tag } });
  const tag = (await ask("")).headers.get("etag") ?? "";
  expect((await ask(tag)).status).toBe(304);
  await other.importFile("A=2", "format=dotenv&mode=overwrite");
  const changed = await ask(tag);
  expect([changed.status, await changed.json()]).toMatchObject([200, { items: [{ value: "2" }] }]);
});
