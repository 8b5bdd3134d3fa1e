import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { recordFigure } from "@hearth-and-keep/figures";
import { type Postgres, startPostgres } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { scopes } from "../authorization/scopes.ts";
import { encodingsOf, findCanaries, type Haystack, readFolder } from "../test/canaries.ts";
import { createFakeBrowser, readAs } from "../test/fake-browser.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import type { TestKeep, TestRequest } from "../test/start-test-keep.ts";

/** Part of every value and note, followed by a unique number. */
const marker = `canary${randomBytes(9).toString("hex")}`;
/** Stored unencrypted, to prove that the search works. */
const control = `planted${randomBytes(9).toString("hex")}`;
const minCanaries = 60;

type Collected = { readonly texts: string[]; readonly errors: string[]; count: number };

/** The next canary: the marker surrounded by multi-byte characters. */
function nextCanary(collected: Collected): string {
  collected.count += 1;
  return `Grüße-🔑-${marker}-${collected.count}-終`;
}

type SendRequest = (method: string, path: string, body?: unknown) => Promise<Response>;

/** Uses every route that accepts a value or note, with every secret type. */
async function writeSecrets(write: SendRequest, collected: Collected): Promise<void> {
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

/** One MiB of repeated canaries. */
function fileOf(canary: string): Buffer {
  return Buffer.alloc(1024 * 1024, canary);
}

/** Invalid requests, each with a canary in it. */
async function sendInvalidRequests(write: SendRequest, collected: Collected): Promise<void> {
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

/** Tokens from every route that issues one; their values serve as canaries. */
async function issueTokens(keep: TestKeep, admin: string): Promise<readonly string[]> {
  const requestToken = async (
    path: string,
    options: TestRequest,
  ): Promise<{ readonly id: string; readonly value: string }> => {
    const response = await keep.request(`/api/secrets/tokens${path}`, {
      token: admin,
      method: "POST",
      ...options,
    });
    expect(response.ok, await response.clone().text()).toBe(true);
    // Both issuing routes return an id and a value.
    return (await response.json()) as { id: string; value: string };
  };
  const body = { name: "minted", scopes: ["vaults:read"] };
  const first = await requestToken("", { body, headers: { "idempotency-key": "mint-1" } });
  const again = await keep.request("/api/secrets/tokens", {
    token: admin,
    method: "POST",
    body,
    headers: { "idempotency-key": "mint-1" },
  });
  expect(again.status).toBe(409);
  const rotated = await requestToken(`/${first.id}/rotate`, { body: { grace_seconds: 60 } });
  const leaked = await requestToken("", { body });
  await keep.request("/api/secrets/tokens/leaked", { method: "POST", body: { tokens: [leaked.value] } });
  for (const value of [first.value, rotated.value, leaked.value]) {
    await keep.request("/api/secrets/vaults", { token: value });
  }
  return [admin, first.value, rotated.value, leaked.value];
}

/** Session cookies, and the cookies, states and nonces of unfinished sign-ins. */
async function collectSessionSecrets(fixture: KeepWithProviders): Promise<readonly string[]> {
  const { keep } = fixture;
  const browsers = [
    await fixture.signIn("general", "101"),
    await fixture.signIn("code-hosting", "first"),
    createFakeBrowser(keep),
  ];
  const locations = [
    await browsers[2]?.startSignIn("general"),
    await createFakeBrowser(keep).startSignIn("code-hosting"),
  ];
  const fromCookies = browsers.flatMap(({ cookies }) => [...cookies.values()]);
  const fromUrls = locations.flatMap((url) => [
    url?.searchParams.get("state"),
    url?.searchParams.get("nonce"),
  ]);
  const texts = [...fromCookies, ...fromUrls].filter((text) => typeof text === "string");
  expect(texts.length).toBeGreaterThanOrEqual(6);
  return texts;
}

async function plantControl(url: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query("CREATE TABLE planted (content bytea)");
    // Twice, because a record that crosses a page of the WAL is cut by the page's header.
    const patterns = [...encodingsOf(control).values()];
    for (const pattern of [...patterns, ...patterns]) {
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

/** A dump, and every file of the stopped server, including the WAL. */
async function collectDatabase(postgres: Postgres, url: string): Promise<readonly Haystack[]> {
  const dumped = await dump(url);
  await postgres.stop();
  return [dumped, ...(await readFolder(postgres.dataFolder))];
}

test("no value, note, token or session is in a dump, data files, the WAL, Keep's log, errors or metrics", {
  timeout: 120_000,
}, async () => {
  const collected: Collected = { texts: [], errors: [], count: 0 };
  await using postgres = await startPostgres({ settings: { full_page_writes: "on" } });
  const { url } = await postgres.createDatabase();
  const keepOutputs: Haystack[] = [];
  let credentials: readonly string[] = [];
  {
    await using fixture = await startKeepWithProviders({ databaseUrl: url });
    const { keep } = fixture;
    const person = await keep.addPerson();
    const { text: admin } = await keep.addToken(person, { scopes });
    let writes = 0;
    const send: SendRequest = (method, path, body) => {
      writes += 1;
      return keep.request(`/api/secrets/vaults/${person.vaultId}${path}`, {
        method,
        token: admin,
        headers: method === "GET" ? {} : { "idempotency-key": `write-${writes}` },
        ...(body === undefined ? {} : { body }),
      });
    };
    const write: SendRequest = async (...request) => {
      const response = await send(...request);
      expect(response.ok, `${request[0]} ${request[1]} ${await response.clone().text()}`).toBe(true);
      return response;
    };
    await writeSecrets(write, collected);
    credentials = [...(await issueTokens(keep, admin)), ...(await collectSessionSecrets(fixture))];
    await sendInvalidRequests(send, collected);
    keepOutputs.push({ name: "Keep's log", content: Buffer.from(keep.logLines.join("\n")) });
    keepOutputs.push({ name: "errors", content: Buffer.from(collected.errors.join("\n")) });
    keepOutputs.push({ name: "metrics", content: Buffer.from(await (await fetch(keep.metricsUrl)).text()) });
    await plantControl(url);
  }
  const databaseFiles = await collectDatabase(postgres, url);
  const haystacks = [...keepOutputs, ...databaseFiles];
  expect(findCanaries(haystacks, [marker, ...credentials])).toEqual([]);
  expectControlFound(databaseFiles);
  const canaries = collected.count + credentials.length;
  expect(canaries).toBeGreaterThanOrEqual(minCanaries);
  const megabytes = haystacks.reduce((sum, { content }) => sum + content.length, 0) / 1e6;
  recordFigure({
    claim: "keep 5",
    text: `0 hits of ${canaries} canaries in ${encodingsOf(marker).size} encodings over ${haystacks.length} files and texts (${megabytes.toFixed(0)} MB); the planted one was found`,
    counted: { reached: canaries, needed: minCanaries },
  });
});

/** The same search finds the unencrypted control in every encoding, in the data files and in the WAL. */
function expectControlFound(haystacks: readonly Haystack[]): void {
  const hits = findCanaries(haystacks, [control]);
  const inFolder = (folder: string) =>
    new Set(hits.filter(({ source }) => source.startsWith(folder)).map(({ encoding }) => encoding));
  expect(inFolder("base/").size).toBe(encodingsOf(control).size);
  expect(inFolder("pg_wal/").size).toBe(encodingsOf(control).size);
  expect(inFolder("dump").size).toBeGreaterThan(0);
}
