import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { recordFigure } from "@hearth-and-keep/figures";
import { startPostgres } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { verifyDatabase } from "../commands/verify-audit.ts";
import { generateKeyText } from "../keys/key-encryption-key.ts";
import { startTestKeep } from "../test/start-test-keep.ts";

const program = fileURLToPath(new URL("../../bin/keep.js", import.meta.url));

/** Removes the random restrict keys that newer pg_dump versions emit. */
async function dump(url: string): Promise<string> {
  const { stdout } = await promisify(execFile)("pg_dump", ["--dbname", url], { maxBuffer: 1 << 30 });
  return stdout.replaceAll(/^\\(?:un)?restrict .*$/gmu, "");
}

async function restore(url: string, sql: string): Promise<void> {
  const child = spawn("psql", ["--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", url], {
    stdio: ["pipe", "ignore", "inherit"],
  });
  child.stdin.end(sql);
  expect(await once(child, "exit")).toEqual([0, null]);
}

/** Roles belong to the server and are not part of a database dump. */
async function createRoles(url: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  await client.query("CREATE ROLE keep_application NOLOGIN; CREATE ROLE keep_maintenance NOLOGIN");
  await client.end();
}

function serveWith(url: string, key: string): Promise<readonly [code: number | null, stderr: string]> {
  return new Promise((resolve) => {
    const environment = { KEEP_DATABASE_URL: url, KEEP_ENCRYPTION_KEY: key, KEEP_LOG_LEVEL: "error" };
    const child = execFile(
      process.execPath,
      [program, "serve", "--port", "0"],
      { env: environment },
      (_error, _stdout, stderr) => resolve([child.exitCode, stderr]),
    );
  });
}

const values = {
  TEXT: { value: "grüße 👋" },
  EMPTY: { value: "" },
  JSON: { value: '{"a":[1,2]}', type: "json" },
  BINARY: { value: Buffer.from([0, 255, 128]).toString("base64"), encoding: "base64", type: "binary" },
  FILE: { value: Buffer.alloc(300_000, 7).toString("base64"), encoding: "base64", type: "file" },
} as const;

test("a dump restored on another server serves every value and verifies; with a wrong key Keep exits and changes nothing", {
  timeout: 300_000,
}, async () => {
  const key = generateKeyText();
  await using sourceServer = await startPostgres();
  await using targetServer = await startPostgres();
  await using source = await sourceServer.createDatabase();
  await using target = await targetServer.createDatabase();
  const accounts: { readonly vaultId: string; readonly token: string }[] = [];
  {
    await using keep = await startTestKeep({ databaseUrl: source.url, key });
    for (let number = 0; number < 4; number += 1) {
      const person = await keep.addPerson();
      const { text: token } = await keep.addToken(person, { scopes: ["secrets:read", "secrets:write"] });
      accounts.push({ vaultId: person.vaultId, token });
      for (const [name, body] of Object.entries(values)) {
        const path = `/api/secrets/vaults/${person.vaultId}/secrets/by-path/a/${name}`;
        for (const expected of [201, 200])
          expect((await keep.request(path, { method: "PUT", token, body })).status).toBe(expected);
      }
    }
  }
  await createRoles(target.url);
  await restore(target.url, await dump(source.url));
  const before = await dump(target.url);
  const [code, stderr] = await serveWith(target.url, generateKeyText());
  expect(code).toBe(4);
  expect(stderr.trim().split("\n")).toEqual([
    expect.stringMatching(/^Cannot start: the encryption key has fingerprint/u),
  ]);
  expect(await dump(target.url)).toBe(before);
  let read = 0;
  await using keep = await startTestKeep({ databaseUrl: target.url, key });
  for (const { vaultId, token } of accounts) {
    for (const [name, { value }] of Object.entries(values)) {
      const response = await keep.request(`/api/secrets/vaults/${vaultId}/values/by-path/a/${name}`, {
        token,
      });
      expect([name, await response.json()]).toMatchObject([name, { value, version: 2 }]);
      read += 1;
    }
  }
  const output: string[] = [];
  expect(await verifyDatabase({}, { database: keep.database, print: (line) => output.push(line) })).toBe(0);
  expect(output.at(-1)).toBe("No changes detected");
  recordFigure({
    claim: "keep 17",
    text: `${read} values read and 8 logs verified after a restore on another server; with a wrong key exit code 4 and no changes`,
    counted: { reached: read, needed: 20 },
  });
});
