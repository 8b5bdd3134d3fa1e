import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cloneFromTemplate, type DatabaseTemplate } from "./database-template.ts";
import type { PostgresAddress } from "./databases.ts";
import { type Postgres, startPostgres } from "./start-postgres.ts";

let postgres: Postgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres[Symbol.asyncDispose]());

test("every clone starts in the prepared state, and prepare runs once", async () => {
  let preparations = 0;
  const template = notesTemplate("prepared once", () => (preparations += 1));
  await using first = await cloneFromTemplate(postgres.address, template);
  await runQuery(first.url, "delete from note");
  await using second = await cloneFromTemplate(postgres.address, template);
  expect(await countNotes(first.url)).toBe(0);
  expect(await countNotes(second.url)).toBe(100);
  expect(preparations).toBe(1);
});

test("concurrent workers create a template once", async () => {
  await using witness = await postgres.createDatabase();
  await runQuery(witness.url, "create table preparation (worker int)");
  const counts = await Promise.all([1, 2, 3].map((worker) => cloneInOwnProcess(witness.url, worker)));
  expect(counts).toEqual(["100", "100", "100"]);
  expect(await countRows(witness.url, "preparation")).toBe(1);
});

test("a template whose preparation fails is not used, and the next caller creates it", async () => {
  const failing = { name: "fails first", prepare: () => Promise.reject(new Error("no schema")) };
  await expect(cloneFromTemplate(postgres.address, failing)).rejects.toThrow(
    'Cannot create the database template "fails first"',
  );
  await using clone = await cloneFromTemplate(postgres.address, notesTemplate("fails first"));
  expect(await countNotes(clone.url)).toBe(100);
});

test("a clone takes less than a second", async () => {
  const template = notesTemplate("timed");
  await using untimed = await cloneFromTemplate(postgres.address, template);
  expect(await countNotes(untimed.url)).toBe(100);
  const milliseconds: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const before = performance.now();
    await using clone = await cloneFromTemplate(postgres.address, template);
    milliseconds.push(performance.now() - before);
    expect(await countNotes(clone.url)).toBe(100);
  }
  const median = milliseconds.toSorted((left, right) => left - right)[2] ?? Infinity;
  process.stdout.write(`database clone, median of 5: ${median.toFixed(0)} ms\n`);
  expect(median).toBeLessThan(1000);
});

function notesTemplate(name: string, onPrepare: () => void = () => undefined): DatabaseTemplate {
  return {
    name,
    async prepare(url) {
      onPrepare();
      await runQuery(url, "create table note as select number from generate_series(1, 100) as number");
    },
  };
}

/** A separate process that records its preparation, sleeps, and prints the number of rows in its clone. */
async function cloneInOwnProcess(witnessUrl: string, worker: number): Promise<string> {
  const program = `
    import { Client } from "pg";
    import { cloneFromTemplate } from "./database-template.ts";
    const run = async (url, sql) => {
      const client = new Client({ connectionString: url });
      await client.connect();
      const { rows } = await client.query(sql);
      await client.end();
      return rows;
    };
    await using clone = await cloneFromTemplate(${JSON.stringify(postgres.address satisfies PostgresAddress)}, {
      name: "concurrent",
      async prepare(url) {
        await run(${JSON.stringify(witnessUrl)}, "insert into preparation values (${worker})");
        await run(url, "select pg_sleep(0.3)");
        await run(url, "create table note as select number from generate_series(1, 100) as number");
      },
    });
    console.log((await run(clone.url, "select count(*)::int as count from note"))[0].count);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: import.meta.dirname,
  });
  return stdout.trim();
}

const countNotes = (url: string): Promise<unknown> => countRows(url, "note");

async function countRows(url: string, table: string): Promise<unknown> {
  const [row] = await runQuery(url, `select count(*)::int as count from ${table}`);
  return row?.["count"];
}

async function runQuery(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
