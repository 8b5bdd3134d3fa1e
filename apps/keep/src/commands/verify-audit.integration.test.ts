import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { recordFigure } from "@hearth-and-keep/figures";
import { acquireDatabase, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { openDatabase } from "../database/open-database.ts";
import { generateId } from "../generate-id.ts";
import { makeKeyText } from "../keys/key-encryption-key.ts";
import { startTestKeep, type TestPerson } from "../test/start-test-keep.ts";

const program = fileURLToPath(new URL("../../bin/keep.js", import.meta.url));

type Run = { readonly words: readonly string[]; readonly environment?: Record<string, string> };

/** Exit code and what was printed, of the program as people run it. */
function runKeep({ words, environment = {} }: Run): Promise<readonly [code: number, printed: string]> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, ...words],
      { env: environment },
      (_problem, printed, complaints) => resolve([child.exitCode ?? -1, printed + complaints]),
    );
  });
}

const verify = (...words: readonly string[]) => runKeep({ words: ["audit", "verify", ...words] });

const verifyStored = (url: string, ...words: readonly string[]) =>
  runKeep({ words: ["audit", "verify", "--database", ...words], environment: { KEEP_DATABASE_URL: url } });

test("a whole database that was put back is found by the checkpoints that were kept apart, and only then", {
  timeout: 300_000,
}, async () => {
  await using folder = await makeTemporaryFolder("keep-checkpoints");
  const checkpoints = join(folder.path, "checkpoints.ndjson");
  const key = makeKeyText();
  let person: TestPerson | undefined;
  const earlier = {
    name: `earlier state ${generateId()}`,
    prepare: async (url: string) => {
      await (await openDatabase({ url }))[Symbol.asyncDispose]();
      await using keep = await startTestKeep({ databaseUrl: url, key });
      person = await keep.addPerson();
    },
  };
  await using present = await acquireDatabase(earlier);
  await using putBack = await acquireDatabase(earlier);
  if (person === undefined) throw new Error("Nobody was added");
  const { vaultId } = person;
  {
    const settings = { auditCheckpointFile: checkpoints, auditCheckpointSeconds: "1" };
    await using keep = await startTestKeep({ databaseUrl: present.url, key, settings });
    const { text: token } = await keep.addToken(person, { scopes: ["secrets:write"] });
    for (const name of ["A", "B", "C"]) {
      const path = `/api/secrets/vaults/${vaultId}/secrets/by-path/${name}`;
      expect((await keep.ask(path, { method: "PUT", token, body: { value: name } })).status).toBe(201);
    }
    const isKept = async () => (await readFile(checkpoints, "utf8").catch(() => "")).includes('"seq":4');
    await expect.poll(isKept, { timeout: 20_000 }).toBe(true);
  }
  expect(await verifyStored(present.url, "--checkpoints", checkpoints)).toEqual([
    0,
    "Of 2 logs 2 are as they were recorded\n",
  ]);
  // Everything in it fits together: nothing inside of it can tell.
  expect(await verifyStored(putBack.url)).toEqual([0, "Of 2 logs 2 are as they were recorded\n"]);
  const [code, printed] = await verifyStored(putBack.url, "--checkpoints", checkpoints);
  expect(code).toBe(1);
  expect(printed).toContain(
    `The log ${vaultId} is not as it was recorded. The first bad one is row 2: record missing: a trusted checkpoint exists for record 4, so the log was rolled back`,
  );
  recordFigure({ claim: "keep 6", text: "a whole database put back: found by the checkpoint file" });
});

test("an export is verified without a server, and the first bad row is named with exit code 1", {
  timeout: 300_000,
}, async () => {
  await using folder = await makeTemporaryFolder("keep-export");
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, { scopes: ["audit:read", "vaults:write"] });
  const text = await (await keep.ask("/api/secrets/audit/export", { token })).text();
  const keys = await (await keep.ask("/api/secrets/audit/keys", { token })).text();
  const files = { good: text, bad: text.replace("account-created", "account-deleted"), keys, nothing: "{}" };
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder.path, name), content);
  const at = (name: string): string => join(folder.path, name);
  const log = `The log ${person.accountId} is`;
  expect(await verify(at("good"), "--keys", at("keys"))).toEqual([
    0,
    expect.stringContaining(`${log} as it was recorded: 1 rows`),
  ]);
  expect(await verify(at("bad"))).toEqual([
    1,
    `${log} not as it was recorded. The first bad one is row 1: content does not match what was recorded\n`,
  ]);
  expect(await verify(at("nothing"))).toEqual([
    1,
    expect.stringContaining("This file is not as it was recorded"),
  ]);
  expect(await verify(at("missing"))).toEqual([2, expect.stringContaining("cannot be read")]);
  expect(await verify(at("good"), "--keys", at("bad"))).toEqual([
    2,
    expect.stringContaining("does not hold the keys"),
  ]);
  expect(await verify(at("good"), "--checkpoints", at("good"))).toEqual([
    2,
    expect.stringContaining("does not hold checkpoints"),
  ]);
});
