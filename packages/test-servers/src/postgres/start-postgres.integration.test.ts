import { once } from "node:events";
import { access } from "node:fs/promises";
import { connect } from "node:net";
import { Client } from "pg";
import { expect, test } from "vitest";
import { startPostgres } from "./start-postgres.ts";

test("a started server runs queries, and rejects a wrong password", async () => {
  await using postgres = await startPostgres();
  expect(await runQuery(postgres.url("postgres"), "select 1 + 1 as sum")).toEqual([{ sum: 2 }]);
  const forged = postgres.url("postgres").replace(postgres.address.password, "wrong");
  await expect(runQuery(forged, "select 1")).rejects.toThrow("password authentication failed");
});

test("two clones of one template do not see each other's rows", async () => {
  await using postgres = await startPostgres();
  await using template = await postgres.createDatabase("notes_template");
  await runQuery(template.url, "create table note (text text)");
  await using first = await postgres.cloneDatabase(template.name);
  await using second = await postgres.cloneDatabase(template.name);
  await runQuery(first.url, "insert into note values ('first')");
  expect(await runQuery(first.url, "select text from note")).toEqual([{ text: "first" }]);
  expect(await runQuery(second.url, "select text from note")).toEqual([]);
});

test("a clone is dropped at the end of its scope even if a client is still connected", async () => {
  await using postgres = await startPostgres();
  const clone = await postgres.cloneDatabase("template1");
  const client = new Client({ connectionString: clone.url });
  client.on("error", () => undefined);
  await client.connect();
  const disconnected = new Promise((resolve) => client.once("end", () => resolve("disconnected")));
  await clone[Symbol.asyncDispose]();
  expect(await disconnected).toBe("disconnected");
  await expect(runQuery(clone.url, "select 1")).rejects.toThrow("does not exist");
});

test("several servers run at once, each with its own port and databases", async () => {
  await using stack = new AsyncDisposableStack();
  const servers = await Promise.all(
    [1, 2, 3].map(async (number) => {
      const postgres = stack.use(await startPostgres());
      stack.use(await postgres.createDatabase(`only_here_${number}`));
      return postgres;
    }),
  );
  expect(new Set(servers.map((server) => server.port)).size).toBe(3);
  const listings = await Promise.all(
    servers.map((server) =>
      runQuery(server.url("postgres"), "select datname from pg_database where datname like 'only_here_%'"),
    ),
  );
  expect(listings).toEqual([1, 2, 3].map((number) => [{ datname: `only_here_${number}` }]));
});

test("rows committed before a crash survive it, and the next start uses the same port", async () => {
  await using postgres = await startPostgres({ durable: true });
  await runQuery(postgres.url("postgres"), "create table kept as select 7 as number");
  await expect(postgres.startAgain()).rejects.toThrow("still running");
  await postgres.crash();
  await expect(runQuery(postgres.url("postgres"), "select 1")).rejects.toThrow("ECONNREFUSED");
  await postgres.startAgain();
  expect(await runQuery(postgres.url("postgres"), "select number from kept")).toEqual([{ number: 7 }]);
  expect(await runQuery(postgres.url("postgres"), "show fsync")).toEqual([{ fsync: "on" }]);
});

test("a crash empties an unlogged table, a clean stop does not", async () => {
  await using postgres = await startPostgres();
  await runQuery(postgres.url("postgres"), "create unlogged table volatile as select 7 as number");
  await postgres.stop();
  await postgres.startAgain();
  expect(await runQuery(postgres.url("postgres"), "select number from volatile")).toEqual([{ number: 7 }]);
  await postgres.crash();
  await postgres.startAgain();
  expect(await runQuery(postgres.url("postgres"), "select number from volatile")).toEqual([]);
});

test("a stopped server leaves no process, no port and no folder", async () => {
  const postgres = await startPostgres();
  const { pid, port, dataFolder } = postgres;
  expect(isAlive(pid)).toBe(true);
  expect(await isListening(port)).toBe(true);
  await access(dataFolder);
  await postgres[Symbol.asyncDispose]();
  expect(isAlive(pid)).toBe(false);
  expect(await isListening(port)).toBe(false);
  await expect(access(dataFolder)).rejects.toThrow("ENOENT");
});

async function runQuery(url: string, sql: string): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
