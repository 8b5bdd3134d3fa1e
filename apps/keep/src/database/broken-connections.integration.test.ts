import { acquireDatabase } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { openPool } from "./open-pool.ts";

const empty = { name: "empty", prepare: () => Promise.resolve() };

test("a connection that the database closes while it is held and idle does not end the process", async () => {
  await using testDatabase = await acquireDatabase(empty);
  await using cleanup = new AsyncDisposableStack();
  const pool = cleanup.adopt(openPool(testDatabase.url, { max: 1 }), (opened) => opened.end());
  const superuser = cleanup.adopt(new Client(testDatabase.url), (opened) => opened.end());
  await superuser.connect();
  const held = await pool.connect();
  const { rows } = await held.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const ended = new Promise<void>((resolve) => held.once("end", resolve));
  await superuser.query("SELECT pg_terminate_backend($1)", [rows[0]?.pid]);
  // Without a listener of its own, the error before this event would be an uncaught exception.
  await ended;
  await expect(held.query("SELECT 1")).rejects.toThrow("not queryable");
  held.release(true);
  expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
});
