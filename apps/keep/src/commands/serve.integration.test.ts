import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import {
  acquireDatabase,
  findFreePort,
  type OwnedProcess,
  startPostgres,
  startProcess,
} from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { readMigrations } from "../database/read-migrations.ts";

const program = fileURLToPath(new URL("../../bin/keep.js", import.meta.url));
const emptyDatabase = { name: "empty", prepare: () => Promise.resolve() };
const key = generateKey();
const migrations = await readMigrations();

function generateKey(): string {
  return execFileSync(process.execPath, [program, "generate-key"], { encoding: "utf8" }).trim();
}

function startKeep(environment: Record<string, string>): Promise<OwnedProcess> {
  return startProcess({
    command: process.execPath,
    arguments: [program, "serve", "--port", "0", "--metrics-port", "0"],
    environment,
    isReady: (output) => output.includes("Keep is listening on"),
  });
}

function urlOf(keep: OwnedProcess): string {
  return /Keep is listening on (\S+)/.exec(keep.output())?.[1] ?? "";
}

/** The exit code and output of a start that must fail, without the test harness's own message. */
async function startFailure(environment: Record<string, string>): Promise<{ code: string; output: string }> {
  const message = await startKeep(environment).then(
    async (keep) => {
      await keep.stop();
      return "it started";
    },
    (error: Error) => error.message,
  );
  const [first = "", ...lines] = message.split("\n");
  return { code: /it exited with (\d+)/.exec(first)?.[1] ?? first, output: lines.join("\n").trim() };
}

async function queryDatabase<Row extends object>(url: string, sql: string): Promise<readonly Row[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

test("serve migrates an empty database and becomes ready", async () => {
  await using database = await acquireDatabase(emptyDatabase);
  await using keep = await startKeep({ KEEP_DATABASE_URL: database.url, KEEP_ENCRYPTION_KEY: key });
  const response = await fetch(`${urlOf(keep)}/readyz`);
  expect([response.status, await response.json()]).toEqual([200, { status: "ready" }]);
  const rows = await queryDatabase<{ number: number }>(
    database.url,
    "SELECT number FROM schema_migration ORDER BY 1",
  );
  expect(rows.map((row) => row.number)).toEqual(migrations.map(({ number }) => number));
});

test("five nodes started at once on an empty database all become ready, and each migration runs once", async () => {
  await using database = await acquireDatabase(emptyDatabase);
  const environment = { KEEP_DATABASE_URL: database.url, KEEP_ENCRYPTION_KEY: key };
  await using nodes = new AsyncDisposableStack();
  const started = await Promise.all([1, 2, 3, 4, 5].map(() => startKeep(environment)));
  for (const node of started) nodes.use(node);
  const statuses = await Promise.all(
    started.map(async (node) => (await fetch(`${urlOf(node)}/readyz`)).status),
  );
  expect(statuses).toEqual([200, 200, 200, 200, 200]);
  const applied = started.map((node) => Number(/"applied":(\d+)/.exec(node.output())?.[1]));
  expect(applied.filter((count) => count === migrations.length)).toHaveLength(1);
  expect(applied.filter((count) => count === 0)).toHaveLength(4);
});

test("a second start on the same database with the same key becomes ready", async () => {
  await using database = await acquireDatabase(emptyDatabase);
  const environment = { KEEP_DATABASE_URL: database.url, KEEP_ENCRYPTION_KEY: key };
  await (await startKeep(environment)).stop();
  await using again = await startKeep(environment);
  expect((await fetch(`${urlOf(again)}/readyz`)).status).toBe(200);
});

test("metrics stay on the loopback address when the API does not, unless asked for", async () => {
  await using database = await acquireDatabase(emptyDatabase);
  const environment = { KEEP_DATABASE_URL: database.url, KEEP_ENCRYPTION_KEY: key, KEEP_HOST: "0.0.0.0" };
  await using keep = await startKeep(environment);
  expect(keep.output()).toMatch(/Metrics on http:\/\/127\.0\.0\.1:\d+\/metrics/u);
  await using open = await startKeep({ ...environment, KEEP_METRICS_HOST: "127.0.0.2" });
  expect(open.output()).toMatch(/Metrics on http:\/\/127\.0\.0\.2:\d+\/metrics/u);
});

test("no secret is accepted on the command line, where other users of the machine could read it", () => {
  const help = execFileSync(process.execPath, [program, "serve", "--help"], { encoding: "utf8" });
  expect(help).toContain("--metrics-host");
  expect(help).not.toMatch(/--(?:database-url|migration-database-url|encryption-key(?!-)|\S*secret)/u);
});

test("SIGTERM stops the server with exit code 0", async () => {
  await using database = await acquireDatabase(emptyDatabase);
  const keep = await startKeep({ KEEP_DATABASE_URL: database.url, KEEP_ENCRYPTION_KEY: key });
  process.kill(keep.pid, "SIGTERM");
  expect(await keep.exited).toBe(0);
});

test("a node is not ready while its database is down, and ready again when it is back", async () => {
  await using postgres = await startPostgres();
  await using database = await postgres.createDatabase();
  await using keep = await startKeep({ KEEP_DATABASE_URL: database.url, KEEP_ENCRYPTION_KEY: key });
  const readiness = async () => (await fetch(`${urlOf(keep)}/readyz`)).status;
  expect(await readiness()).toBe(200);
  await postgres.stop();
  expect(await readiness()).toBe(503);
  expect((await fetch(`${urlOf(keep)}/healthz`)).status).toBe(200);
  await postgres.startAgain();
  await expect.poll(readiness, { timeout: 10_000 }).toBe(200);
});

test("a missing or invalid setting is reported in one line with its exit code", async () => {
  const port = await findFreePort();
  const closed = `postgres://someone:canary-password@127.0.0.1:${port}/keep`;
  const cases: readonly [Record<string, string>, string, string][] = [
    [{ KEEP_ENCRYPTION_KEY: key }, "2", "Cannot start: no database is set"],
    [
      { KEEP_DATABASE_URL: closed },
      "2",
      "Cannot start: no encryption key is set; generate one with 'keep generate-key'",
    ],
    [
      { KEEP_DATABASE_URL: closed, KEEP_ENCRYPTION_KEY: "short" },
      "2",
      "Cannot start: the encryption key is not 32 bytes",
    ],
    [
      { KEEP_DATABASE_URL: closed, KEEP_ENCRYPTION_KEY: key },
      "3",
      `Cannot start: cannot connect to the database at 127.0.0.1:${port}`,
    ],
  ];
  for (const [environment, code, message] of cases) {
    const failure = await startFailure(environment);
    expect(failure.code).toBe(code);
    expect(failure.output).toContain(message);
    expect(failure.output.split("\n")).toHaveLength(1);
    expect(failure.output).not.toContain("canary-password");
  }
});

test("a missing database and a wrong password give different messages", async () => {
  await using database = await acquireDatabase(emptyDatabase);
  const missing = new URL(database.url);
  missing.pathname = "/nowhere";
  const refused = new URL(database.url);
  refused.password = "canary-wrong";
  const failures = await Promise.all(
    [missing, refused].map((url) => startFailure({ KEEP_DATABASE_URL: url.href, KEEP_ENCRYPTION_KEY: key })),
  );
  expect(failures.map((failure) => failure.code)).toEqual(["3", "3"]);
  expect(failures[0]?.output).toContain('Cannot start: the database "nowhere" does not exist');
  expect(failures[1]?.output).toContain('rejected the user "postgres"');
  expect(failures[1]?.output).not.toContain("canary-wrong");
});

test("a wrong encryption key is rejected by fingerprint, and no key is printed", async () => {
  await using database = await acquireDatabase(emptyDatabase);
  await (await startKeep({ KEEP_DATABASE_URL: database.url, KEEP_ENCRYPTION_KEY: key })).stop();
  const other = generateKey();
  const failure = await startFailure({ KEEP_DATABASE_URL: database.url, KEEP_ENCRYPTION_KEY: other });
  expect(failure.code).toBe("4");
  expect(failure.output).toMatch(
    /has fingerprint [0-9a-f]{16}, but this database was encrypted with [0-9a-f]{16}/,
  );
  expect(failure.output).not.toContain(other);
  expect(failure.output).not.toContain(key);
});

test("a database migrated by a newer Keep is rejected", async () => {
  await using database = await acquireDatabase(emptyDatabase);
  const environment = { KEEP_DATABASE_URL: database.url, KEEP_ENCRYPTION_KEY: key };
  await (await startKeep(environment)).stop();
  await queryDatabase(
    database.url,
    "INSERT INTO schema_migration (number, name, checksum) VALUES (999, 'later', 'x')",
  );
  expect((await startFailure(environment)).output).toContain(
    "this database was migrated by a newer Keep (schema 999",
  );
});

test("a migration that was changed after it was applied is rejected", async () => {
  await using database = await acquireDatabase(emptyDatabase);
  const environment = { KEEP_DATABASE_URL: database.url, KEEP_ENCRYPTION_KEY: key };
  await (await startKeep(environment)).stop();
  await queryDatabase(database.url, "UPDATE schema_migration SET checksum = 'another' WHERE number = 1");
  expect((await startFailure(environment)).output).toContain("differs from the one applied to this database");
});
