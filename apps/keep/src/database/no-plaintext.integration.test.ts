import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { recordFigure } from "@hearth-and-keep/figures";
import { type Postgres, startPostgres } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { scopes } from "../authorization/scopes.ts";
import { encodingsOf, findCanaries, type Haystack, readFolder } from "../test/canaries.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import type { TestKeep, TestRequest } from "../test/start-test-keep.ts";
import { readAs, visitKeep } from "../test/fake-browser.ts";

/** In every value and every note, each with a number of its own beside it. */
const marker = `canary${randomBytes(9).toString("hex")}`;
/** Planted in clear, to see that the search would find one. */
const control = `planted${randomBytes(9).toString("hex")}`;
const fewestCanaries = 60;

type Collected = { readonly texts: string[]; readonly errors: string[]; count: number };

/** The next canary: every kind of character, and the marker in the middle. */
function nextCanary(collected: Collected): string {
  collected.count += 1;
  return `Grüße-🔑-${marker}-${collected.count}-終`;
}

type Writer = (method: string, path: string, body?: unknown) => Promise<Response>;

/** Every route that takes a value or a note, with every type of value, each with an Idempotency-Key and again. */
async function writeEverywhere(write: Writer, collected: Collected): Promise<void> {
  const next = () => nextCanary(collected);
  const values: readonly (readonly [string, object])[] = [
    ["text", { value: next() }],
    ["json", { value: JSON.stringify({ deep: [next()] }), type: "json" }],
    ["binary", { value: Buffer.from(next()).toString("base64"), encoding: "base64", type: "binary" }],
    ["file", { value: fileOf(next()).toString("base64"), encoding: "base64", type: "file" }],
  ];
  for (const [name, body] of values) {
    const path = `/secrets/by-path/app/${name}`;
    await write("PUT", path, { ...body, note: next(), tags: ["example"] });
    await write("PUT", path, { ...body, note: next() });
    const { id } = await readAs<{ readonly id: string }>(await write("GET", path));
    await write("PATCH", `/secrets/${id}`, { note: next() });
    await write("GET", `/secrets/${id}/value`);
    await write("POST", `/secrets/${id}/versions/1/restore`);
    await write("DELETE", `/secrets/${id}/versions/1`);
  }
  const operations = Array.from({ length: 20 }, (_, index) => ({
    op: "put",
    path: `/batch/${index}`,
    value: next(),
    note: next(),
  }));
  await write("POST", "/batch", { operations });
  await write("POST", "/import?format=dotenv", { content: `FIRST="${next()}"\nSECOND='${next()}'\n` });
  await write("POST", "/import?format=json", { content: JSON.stringify({ THIRD: next() }) });
  await write("GET", "/values?recursive=true");
  await write("GET", "/export?format=json&recursive=true");
  await write("POST", "/rotate-key");
}

/** A whole MiB with the canary at its begin, at its end and in between. */
function fileOf(canary: string): Buffer {
  const file = Buffer.alloc(1024 * 1024, canary);
  return file;
}

/** Requests that are refused, each with a canary in it. */
async function failEverywhere(write: Writer, collected: Collected): Promise<void> {
  const next = () => nextCanary(collected);
  const refused: readonly (readonly [string, string, unknown])[] = [
    ["PUT", "/secrets/by-path/app/text", `{"value": "${next()}"`],
    ["PUT", "/secrets/by-path/app/text", { value: [next()] }],
    ["PUT", "/secrets/by-path/app/text", { value: next(), unknown: next() }],
    ["PUT", "/secrets/by-path/app/text", { value: next(), type: next() }],
    ["PUT", "/secrets/by-path/app/text", { value: next(), type: "json" }],
    ["PUT", "/secrets/by-path/app/text", { value: `!${next()}`, encoding: "base64" }],
    ["PUT", "/secrets/by-path/app/text", { value: next().repeat(4000) }],
    ["PUT", "/secrets/by-path/app/text", { value: next().repeat(80_000) }],
    ["PUT", "/secrets/by-path/app/text", { value: "fine", note: next().repeat(400) }],
    ["POST", "/batch", { operations: [{ op: next(), path: "/a", value: next() }] }],
    ["POST", "/import?format=json", { content: `{"A": "${next()}"` }],
    ["POST", "/import?format=dotenv", { content: `A="${next()}` }],
    ["PATCH", "/secrets/00000000-0000-7000-8000-000000000000", { note: next() }],
  ];
  for (const [method, path, body] of refused) {
    const response = await write(method, path, body);
    const text = await response.text();
    expect(response.status, `${method} ${path} ${text}`).toBeGreaterThanOrEqual(400);
    expect(response.status, text).toBeLessThan(500);
    collected.errors.push(text);
  }
}

/** Tokens by every route that makes one; their texts are canaries as they are. */
async function mintEverywhere(keep: TestKeep, admin: string): Promise<readonly string[]> {
  const ask = async (
    path: string,
    asked: TestRequest,
  ): Promise<{ readonly id: string; readonly value: string }> => {
    const response = await keep.ask(`/api/secrets/tokens${path}`, { token: admin, method: "POST", ...asked });
    expect(response.ok, await response.clone().text()).toBe(true);
    // What mints is answered with both.
    return (await response.json()) as { id: string; value: string };
  };
  const body = { name: "minted", scopes: ["vaults:read"] };
  const first = await ask("", { body, headers: { "idempotency-key": "mint-1" } });
  const again = await keep.ask("/api/secrets/tokens", {
    token: admin,
    method: "POST",
    body,
    headers: { "idempotency-key": "mint-1" },
  });
  expect(again.status).toBe(409);
  const rotated = await ask(`/${first.id}/rotate`, { body: { grace_seconds: 60 } });
  const leaked = await ask("", { body });
  await keep.ask("/api/secrets/tokens/leaked", { method: "POST", body: { tokens: [leaked.value] } });
  for (const value of [first.value, rotated.value, leaked.value]) {
    await keep.ask("/api/secrets/vaults", { token: value });
  }
  return [admin, first.value, rotated.value, leaked.value];
}

/** Sessions of people who signed in, and what of a sign-in that is under way nobody else may know. */
async function signInEverywhere(world: KeepWithProviders): Promise<readonly string[]> {
  const { keep } = world;
  const visitors = [
    await world.signIn("general", "101"),
    await world.signIn("code-hosting", "first"),
    visitKeep(keep),
  ];
  const locations = [await visitors[2]?.leave("general"), await visitKeep(keep).leave("code-hosting")];
  const fromCookies = visitors.flatMap(({ cookies }) => [...cookies.values()]);
  const fromAddresses = locations.flatMap((url) => [
    url?.searchParams.get("state"),
    url?.searchParams.get("nonce"),
  ]);
  const texts = [...fromCookies, ...fromAddresses].filter((text) => typeof text === "string");
  expect(texts.length).toBeGreaterThanOrEqual(6);
  return texts;
}

async function plantControl(url: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query("CREATE TABLE planted (content bytea)");
    for (const pattern of encodingsOf(control).values()) {
      await client.query("INSERT INTO planted VALUES ($1)", [pattern]);
    }
    await client.query("CHECKPOINT");
  } finally {
    await client.end();
  }
}

async function dump(url: string): Promise<Haystack> {
  const { stdout } = await promisify(execFile)("pg_dump", ["--dbname", url], {
    maxBuffer: 512 * 1024 * 1024,
  });
  return { name: "dump", content: Buffer.from(stdout) };
}

/** The dump, and when the server has ended every file of it, its log of changes among them. */
async function collectDatabase(postgres: Postgres, url: string): Promise<readonly Haystack[]> {
  const dumped = await dump(url);
  await postgres.stop();
  return [dumped, ...(await readFolder(postgres.dataFolder))];
}

test("no value, note, token or session is in a dump, in data files, in the log of changes, in our log, in errors or in metrics", {
  timeout: 120_000,
}, async () => {
  const collected: Collected = { texts: [], errors: [], count: 0 };
  await using postgres = await startPostgres({ settings: { full_page_writes: "on" } });
  const { url } = await postgres.createDatabase();
  const ours: Haystack[] = [];
  let bearers: readonly string[] = [];
  {
    await using world = await startKeepWithProviders({ databaseUrl: url });
    const { keep } = world;
    const person = await keep.addPerson();
    const { text: admin } = await keep.addToken(person, { scopes });
    let writes = 0;
    const send: Writer = (method, path, body) => {
      writes += 1;
      return keep.ask(`/api/secrets/vaults/${person.vaultId}${path}`, {
        method,
        token: admin,
        headers: method === "GET" ? {} : { "idempotency-key": `write-${writes}` },
        ...(body === undefined ? {} : { body }),
      });
    };
    const write: Writer = async (...request) => {
      const response = await send(...request);
      expect(response.ok, `${request[0]} ${request[1]} ${await response.clone().text()}`).toBe(true);
      return response;
    };
    await writeEverywhere(write, collected);
    bearers = [...(await mintEverywhere(keep, admin)), ...(await signInEverywhere(world))];
    await failEverywhere(send, collected);
    ours.push({ name: "our log", content: Buffer.from(keep.logLines.join("\n")) });
    ours.push({ name: "errors", content: Buffer.from(collected.errors.join("\n")) });
    ours.push({ name: "metrics", content: Buffer.from(await (await fetch(keep.metricsUrl)).text()) });
    await plantControl(url);
  }
  const theirs = await collectDatabase(postgres, url);
  const everywhere = [...ours, ...theirs];
  expect(findCanaries(everywhere, [marker, ...bearers])).toEqual([]);
  expectControlFound(theirs);
  const canaries = collected.count + bearers.length;
  expect(canaries).toBeGreaterThanOrEqual(fewestCanaries);
  const megabytes = everywhere.reduce((sum, { content }) => sum + content.length, 0) / 1e6;
  recordFigure({
    claim: "keep 5",
    text: `0 hits of ${canaries} canaries in ${encodingsOf(marker).size} encodings over ${everywhere.length} files and texts (${megabytes.toFixed(0)} MB); the planted one was found`,
    counted: { reached: canaries, needed: fewestCanaries },
  });
});

/** The same search finds what lies there in clear, in every encoding, in a data file and in the log of changes. */
function expectControlFound(haystacks: readonly Haystack[]): void {
  const hits = findCanaries(haystacks, [control]);
  const inFolder = (folder: string) =>
    new Set(hits.filter(({ place }) => place.startsWith(folder)).map(({ encoding }) => encoding));
  expect(inFolder("base/").size).toBe(encodingsOf(control).size);
  expect(inFolder("pg_wal/").size).toBe(encodingsOf(control).size);
  expect(inFolder("dump").size).toBeGreaterThan(0);
}
