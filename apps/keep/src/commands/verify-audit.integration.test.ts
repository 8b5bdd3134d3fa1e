import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { recordFigure } from "@hearth-and-keep/figures";
import { acquireDatabase, compileCacheEnvironment, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { openDatabase } from "../database/open-database.ts";
import { generateId } from "../generate-id.ts";
import { generateKeyText } from "../keys/key-encryption-key.ts";
import { startTestKeep, type TestPerson } from "../test/start-test-keep.ts";

const program = fileURLToPath(new URL("../../bin/keep.js", import.meta.url));

type Run = { readonly args: readonly string[]; readonly environment?: Record<string, string> };

/** Runs the command; returns its exit code and output. */
function runKeep({ args, environment = {} }: Run): Promise<readonly [code: number, output: string]> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, ...args],
      { env: { ...compileCacheEnvironment(), ...environment } },
      (_error, output, stderr) => resolve([child.exitCode ?? -1, output + stderr]),
    );
  });
}

const verify = (...args: readonly string[]) => runKeep({ args: ["audit", "verify", ...args] });

type Stored = { readonly url: string; readonly key?: string };

const verifyStored = ({ url, key }: Stored, ...args: readonly string[]) =>
  runKeep({
    args: ["audit", "verify", "--database", ...args],
    environment: { KEEP_DATABASE_URL: url, ...(key === undefined ? {} : { KEEP_ENCRYPTION_KEY: key }) },
  });

test("a rolled-back database is detected with the checkpoint file, and only with it", {
  timeout: 300_000,
}, async () => {
  await using folder = await makeTemporaryFolder("keep-checkpoints");
  const checkpoints = join(folder.path, "checkpoints.ndjson");
  const key = generateKeyText();
  let person: TestPerson | undefined;
  const earlierState = {
    name: `earlier state ${generateId()}`,
    prepare: async (url: string) => {
      await (await openDatabase({ url }))[Symbol.asyncDispose]();
      await using keep = await startTestKeep({ databaseUrl: url, key });
      person = await keep.addPerson();
    },
  };
  await using present = await acquireDatabase(earlierState);
  await using rolledBack = await acquireDatabase(earlierState);
  if (person === undefined) throw new Error("The database was not prepared");
  const { vaultId } = person;
  {
    const settings = { auditCheckpointFile: checkpoints, auditCheckpointSeconds: "1" };
    await using keep = await startTestKeep({ databaseUrl: present.url, key, settings });
    const { text: token } = await keep.addToken(person, { scopes: ["secrets:write"] });
    for (const name of ["A", "B", "C"]) {
      const path = `/api/secrets/vaults/${vaultId}/secrets/by-path/${name}`;
      expect((await keep.request(path, { method: "PUT", token, body: { value: name } })).status).toBe(201);
    }
  }
  expect(await readFile(checkpoints, "utf8")).toContain("log-checkpoint");
  const limits = {
    rows: "Accounts, tokens, vaults and secrets were not verified; set KEEP_ENCRYPTION_KEY to verify them\n",
    keys: "Signatures were verified with the keys in the database; pass trusted keys with --keys\n",
    checkpoints:
      "A database that was rolled back is not detected; pass trusted checkpoints with --checkpoints\n",
  };
  expect(await verifyStored({ url: present.url, key }, "--checkpoints", checkpoints)).toEqual([
    0,
    expect.stringMatching(
      /^Logs: .*\nAccounts: 1, vaults: 1, secrets: 3\nSignatures .*\nNo changes detected\n$/u,
    ),
  ]);
  // The old state is consistent, so it verifies on its own, but says what that does not show.
  expect(await verifyStored({ url: rolledBack.url })).toEqual([
    0,
    expect.stringContaining(`${limits.rows}${limits.keys}${limits.checkpoints}No changes detected\n`),
  ]);
  const [code, output] = await verifyStored({ url: rolledBack.url, key }, "--checkpoints", checkpoints);
  expect(code).toBe(1);
  expect(output).toContain("it was rolled back or cut");
  recordFigure({ claim: "keep 6", text: "a rolled-back database: detected with the checkpoint file" });
});

test("a row that was changed is named with the encryption key, and only with it", {
  timeout: 300_000,
}, async () => {
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const { id } = await keep.addToken(person, { scopes: ["secrets:read"] });
  const superuser = new Client(keep.databaseUrl);
  await superuser.connect();
  await superuser.query("UPDATE api_token SET scopes = '{secrets:write}' WHERE id = $1", [id]);
  await superuser.end();
  const { databaseUrl: url, key } = keep;
  expect((await verifyStored({ url }))[0]).toBe(0);
  const [code, output] = await verifyStored({ url, key });
  expect([code, output]).toEqual([1, expect.stringContaining(`api_token ${id} is not genuine\n`)]);
  const [otherCode, otherOutput] = await verifyStored({ url, key: generateKeyText() });
  expect([otherCode, otherOutput]).toEqual([
    1,
    expect.stringContaining("server_key integrity 1 is not genuine"),
  ]);
});

test("an export is verified offline, and a bad record is reported with exit code 1", {
  timeout: 300_000,
}, async () => {
  await using folder = await makeTemporaryFolder("keep-export");
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, { scopes: ["audit:read", "vaults:write"] });
  const text = await (await keep.request("/api/secrets/audit/export", { token })).text();
  const keys = await (await keep.request("/api/secrets/audit/keys", { token })).text();
  const files = { good: text, bad: text.replace("account-created", "account-deleted"), keys, nothing: "{}" };
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder.path, name), content);
  const pathOf = (name: string): string => join(folder.path, name);
  const log = `Log ${person.accountId}`;
  expect(await verify(pathOf("good"), "--keys", pathOf("keys"))).toEqual([
    0,
    expect.stringContaining(`${log} verified, no changes detected (records: 1,`),
  ]);
  expect(await verify(pathOf("bad"))).toEqual([
    1,
    expect.stringMatching(
      `^${log} failed verification at record \\d+/\\d+: content does not match what was recorded\n$`,
    ),
  ]);
  expect(await verify(pathOf("nothing"))).toEqual([
    1,
    expect.stringContaining("The file failed verification"),
  ]);
  expect(await verify(pathOf("missing"))).toEqual([2, expect.stringContaining("cannot be read")]);
  expect(await verify(pathOf("good"), "--keys", pathOf("bad"))).toEqual([
    2,
    expect.stringContaining("does not contain audit keys"),
  ]);
  expect(await verify(pathOf("good"), "--checkpoints", pathOf("good"))).toEqual([
    2,
    expect.stringContaining("does not contain audit checkpoints"),
  ]);
});
