import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeTemporaryFolder, seededEnvironment, startProcess } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";

const program = fileURLToPath(new URL("../../bin/hearth.js", import.meta.url));
const run = promisify(execFile);

test("keys are created, shown without their secret, changed, rotated and revoked while a server runs", async () => {
  await using folder = await makeTemporaryFolder("keys");
  const environment = {
    ...seededEnvironment,
    HOME: folder.path,
    HEARTH_MODELS: join(folder.path, "models"),
  };
  const keys = async (...args: readonly string[]): Promise<string> =>
    (await run(process.execPath, [program, "keys", ...args], { env: environment })).stdout;
  const created = await keys("create", "alice", "--requests-per-minute", "5", "--expires", "30d");
  const secret = /^(?<secret>hearth_\S+)$/mu.exec(created)?.groups?.["secret"] ?? "";
  expect(created).toContain("restart running servers");
  expect(JSON.parse(await keys("show", "alice", "--json"))).toMatchObject({
    name: "alice",
    role: "inference",
    requestsPerMinute: 5,
    status: "active",
  });
  expect(await keys("usage", "alice")).toContain("0 of 5");
  expect(await keys("show", "alice")).toMatch(/^Requests per minute {2}5$/mu);
  await using hearth = await startProcess({
    command: process.execPath,
    arguments: [program, "serve", "--port", "0"],
    environment,
    isReady: (output) => output.includes("Hearth is listening on"),
  });
  const url = /Hearth is listening on (\S+)/u.exec(hearth.output())?.[1] ?? "";
  const statusOf = async (path: string, key: string): Promise<number> =>
    (await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })).status;
  expect((await fetch(`${url}/api/tags`)).status).toBe(401);
  expect([await statusOf("/api/tags", secret), await statusOf("/metrics", secret)]).toEqual([200, 403]);
  await keys("update", "alice", "--role", "admin", "--requests-per-minute", "none");
  await expect.poll(() => statusOf("/metrics", secret), { timeout: 10_000 }).toBe(200);
  const { secret: rotated } = JSON.parse(await keys("rotate", "alice", "--json"));
  await expect.poll(() => statusOf("/api/tags", secret), { timeout: 10_000 }).toBe(401);
  expect(await statusOf("/api/tags", rotated)).toBe(200);
  expect(await keys("usage")).toContain("alice");
  const rangeFlags = ["--from", "2026-01-01", "--to", "2026-01-31"];
  expect(JSON.parse(await keys("usage", "alice", ...rangeFlags, "--json"))).toMatchObject({
    from: "2026-01-01T00:00:00.000Z",
    to: "2026-02-01T00:00:00.000Z",
    bucket: "day",
    ledger: "on",
    rows: [],
  });
  const chat = { model: "missing", messages: [{ role: "user", content: "Hi" }] };
  const headers = { authorization: `Bearer ${rotated}` };
  await fetch(`${url}/api/chat`, { method: "POST", headers, body: JSON.stringify(chat) });
  await expect
    .poll(() => keys("usage", "alice", "--csv"), { timeout: 10_000 })
    .toMatch(/^start,key,model,where,.*\r\n.*Z,alice,,,1,1,0,0,0,0,0\r\n$/u);
  expect(await keys("usage", "--bucket", "hour")).toMatch(/START.*KEY[\s\S]*alice/u);
  await keys("revoke", "alice");
  await expect.poll(() => statusOf("/api/tags", rotated), { timeout: 10_000 }).toBe(401);
  expect(await keys("list")).toMatch(/alice\s+admin\s+revoked/u);
  expect(hearth.output()).not.toContain(secret);
}, 120_000);

test.each([
  ["a name with spaces", ["create", "two words"], "use up to 64 letters"],
  ["no limit", ["create", "a", "--tokens-per-day", "0"], "use a number of at least 1"],
  ["an unknown role", ["create", "a", "--role", "root"], "use admin or inference"],
  ["models of an admin", ["create", "a", "--role", "admin", "--models", "x"], "an admin key can rename"],
  ["a past format", ["create", "a", "--expires", "tomorrow"], "use 90d"],
  ["a day that does not exist", ["usage", "--from", "2026-02-31"], "must be a date"],
  ["an unknown bucket", ["usage", "--bucket", "minute"], "use hour or day"],
  ["an unknown key", ["revoke", "nobody"], 'Key "nobody" not found'],
])("%s is rejected with advice", async (_what, args, advice) => {
  await using folder = await makeTemporaryFolder("keys");
  const env = { ...seededEnvironment, HOME: folder.path };
  const failed = await run(process.execPath, [program, "keys", ...args], { env }).catch(
    (error: unknown) => error,
  );
  expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining(advice) });
});
