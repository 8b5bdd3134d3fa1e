import { Client } from "pg";
import { expect, test } from "vitest";
import { cloneFromTemplate } from "./database-template.ts";
import setup from "./global-setup.ts";
import { requestPostgres, sharePostgres } from "./shared-server.ts";
import { startPostgres } from "./start-postgres.ts";

test("the shared server starts once, on the first request, and stops when the share is disposed", async () => {
  let starts = 0;
  const shared = await sharePostgres(() => {
    starts += 1;
    return startPostgres();
  });
  expect(starts).toBe(0);
  const addresses = await Promise.all([1, 2, 3].map(() => requestPostgres(shared.discoveryUrl)));
  expect(starts).toBe(1);
  expect(new Set(addresses.map((address) => address.port)).size).toBe(1);
  await shared[Symbol.asyncDispose]();
  const [address] = addresses;
  await expect(new Client({ ...address, database: "postgres" }).connect()).rejects.toThrow("ECONNREFUSED");
});

test("a shared server that cannot start reports the reason to every caller", async () => {
  await using shared = await sharePostgres(() => Promise.reject(new Error("no disk left")));
  await expect(requestPostgres(shared.discoveryUrl)).rejects.toThrow("no disk left");
});

test("the global setup provides a URL for cloned databases until its teardown", async () => {
  const provided = new Map<string, string>();
  const teardown = await setup({ provide: (name, value) => void provided.set(name, value) });
  const discoveryUrl = provided.get("sharedPostgresUrl") ?? "";
  await using clone = await cloneFromTemplate(await requestPostgres(discoveryUrl), {
    name: "empty",
    prepare: async () => undefined,
  });
  const client = new Client({ connectionString: clone.url });
  await client.connect();
  expect((await client.query("select current_database() as name")).rows).toEqual([{ name: clone.name }]);
  await client.end();
  await teardown();
  await expect(requestPostgres(discoveryUrl)).rejects.toThrow("fetch failed");
});
