import { Client } from "pg";
import { expect, test } from "vitest";
import { cloneFromTemplate } from "./database-template.ts";
import setup from "./global-setup.ts";
import { requestPostgres, sharePostgres } from "./shared-server.ts";
import { startPostgres } from "./start-postgres.ts";

test("the shared server starts once, when the first of many asks, and ends with the share", async () => {
  let starts = 0;
  const shared = await sharePostgres(() => {
    starts += 1;
    return startPostgres();
  });
  expect(starts).toBe(0);
  const addresses = await Promise.all([1, 2, 3].map(() => requestPostgres(shared.askingUrl)));
  expect(starts).toBe(1);
  expect(new Set(addresses.map((address) => address.port)).size).toBe(1);
  await shared[Symbol.asyncDispose]();
  const [address] = addresses;
  await expect(new Client({ ...address, database: "postgres" }).connect()).rejects.toThrow("ECONNREFUSED");
});

test("a shared server that cannot start tells everyone who asks why", async () => {
  await using shared = await sharePostgres(() => Promise.reject(new Error("no disk left")));
  await expect(requestPostgres(shared.askingUrl)).rejects.toThrow("no disk left");
});

test("the global setup provides an address that lends cloned databases until its teardown", async () => {
  const provided = new Map<string, string>();
  const teardown = await setup({ provide: (name, value) => void provided.set(name, value) });
  const askingUrl = provided.get("sharedPostgresUrl") ?? "";
  await using clone = await cloneFromTemplate(await requestPostgres(askingUrl), {
    name: "empty",
    prepare: async () => undefined,
  });
  const client = new Client({ connectionString: clone.url });
  await client.connect();
  expect((await client.query("select current_database() as name")).rows).toEqual([{ name: clone.name }]);
  await client.end();
  await teardown();
  await expect(requestPostgres(askingUrl)).rejects.toThrow("fetch failed");
});
