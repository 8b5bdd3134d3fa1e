import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { Hidden } from "@hearth-and-keep/logging";
import { acquireDatabase, childEnvironment, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { generateHybridIdentity, identityToRecipient } from "age-encryption";
import { expect, test } from "vitest";
import { drillRecovery } from "../../commands/key-recovery.ts";
import { openDatabase } from "../../database/open-database.ts";
import { type OpenedVault, openVault, startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { ageFolder } from "../custody/test/config.ts";
import { generateKeyText, readKeys } from "../key-encryption-key.ts";
import { asSuperuser } from "../test/tamper-fixtures.ts";
import { writeRecoveryFiles } from "./recovery-files.ts";

const program = fileURLToPath(new URL("../../../bin/keep.js", import.meta.url));
const run = promisify(execFile);
const empty = { name: "empty", prepare: () => Promise.resolve() };
const sizes = chooseSize({ ci: { secrets: 12 }, show: { secrets: 200 }, nightly: { secrets: 5000 } });

type Ended = { readonly code: number | null; readonly output: string; readonly errors: string };

/** Runs `keep key …` as a process. */
function keepKey(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { ...childEnvironment(), ...environment };
    const child = execFile(process.execPath, [program, "key", ...args], { env }, (_error, output, errors) =>
      resolve({ code: child.exitCode, output, errors }),
    );
  });
}

async function dump(url: string): Promise<string> {
  const { stdout } = await run("pg_dump", ["--dbname", url], { maxBuffer: 1 << 30 });
  return stdout.replaceAll(/^\\(?:un)?restrict .*$/gmu, "");
}

async function restore(url: string, sql: string): Promise<void> {
  const options = ["--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", url];
  const child = spawn("psql", options, { stdio: ["pipe", "ignore", "inherit"] });
  child.stdin.end(sql);
  expect(await once(child, "exit")).toEqual([0, null]);
}

/** Two versions of each; returns the current ones by path. */
async function writeValues(vault: OpenedVault): Promise<ReadonlyMap<string, string>> {
  const values = new Map<string, string>();
  for (let number = 0; number < sizes.secrets; number += 1) {
    const path = `/app/S${number}`;
    await vault.write(path, `earlier value ${number}`);
    await vault.write(path, `value to recover ${number}`);
    values.set(path, `value to recover ${number}`);
  }
  return values;
}

/** Seals the key for three people. Returns the flags and files with which these people recover it. */
async function sealForPeople(folder: string, { databaseUrl, key }: TestKeep) {
  const sealed = join(folder, "recovery.age");
  const people = [1, 2, 3].map((number) => ({
    identityFile: join(folder, `identity.${number}`),
    share: `${sealed}.${number}`,
  }));
  const seal = ["seal", "--shares", "3", "--threshold", "2", "--output", sealed];
  for (const { identityFile } of people) {
    const identity = await generateHybridIdentity();
    await writeFile(identityFile, `${identity}\n`);
    seal.push("--to", await identityToRecipient(identity));
  }
  const owner = { KEEP_DATABASE_URL: databaseUrl, KEEP_ENCRYPTION_KEY: key };
  const written = await keepKey(seal, owner);
  expect([written.code, written.errors]).toEqual([0, ""]);
  for (const { share } of people) expect((await stat(share)).mode & 0o777).toBe(0o600);
  await expect(writeRecoveryFiles(sealed, ["1", "2"])).rejects.toThrow("a file of this name exists");
  // Also when the database's key is there, but only as the second one.
  const foreign = await keepKey(seal, { ...owner, KEEP_ENCRYPTION_KEY: `${generateKeyText()},${key}` });
  expect([foreign.code, foreign.errors]).toEqual([4, expect.stringContaining("was encrypted with")]);
  const argumentsOf = (...chosen: readonly number[]): readonly string[] => {
    const present = people.filter((_person, index) => chosen.includes(index));
    return present.flatMap(({ identityFile, share }) => ["--identity", identityFile, share]);
  };
  return { argumentsOf, runs: [written, foreign] };
}

/** A damaged value is named, and the connections of the drill change nothing. */
async function expectFindsDamage(url: string, key: string): Promise<void> {
  await asSuperuser(url, (superuser) =>
    superuser.query(
      "UPDATE secret_version SET sealed = set_byte(sealed, 30, get_byte(sealed, 30) # 1) WHERE version = 1 AND secret_id = (SELECT min(id::text)::uuid FROM secret)",
    ),
  );
  const lines: string[] = [];
  await using database = await openDatabase({ url, isReadOnly: true });
  const dependencies = { database, print: (line: string) => void lines.push(line) };
  expect(await drillRecovery(readKeys(new Hidden(key)), dependencies)).toBe(1);
  expect(lines[0]).toMatch(/^secret_version 1 of secret \S+ is not genuine$/u);
  expect(lines.at(-1)).toBe("The recovery is not complete: 1 findings");
  const deleted = database.query({ text: "DELETE FROM server_key" });
  await expect(deleted).rejects.toMatchObject({ cause: { code: "25006" } });
}

test("with the key gone, two of three shares open every value of a copy, and one does not", {
  timeout: 600_000,
}, async () => {
  await using folder = await makeTemporaryFolder("recovery");
  await using keep = await startUnlimitedKeep();
  await using vault = await openVault(keep);
  const values = await writeValues(vault);
  const { argumentsOf, runs } = await sealForPeople(folder.path, keep);
  await using copy = await acquireDatabase(empty);
  await restore(copy.url, await dump(keep.databaseUrl));
  const before = await dump(copy.url);
  const onCopy = { KEEP_DATABASE_URL: copy.url };
  const shown = await keepKey(["drill", ...argumentsOf(0, 2)], onCopy);
  expect(shown).toMatchObject({ code: 0, errors: "" });
  expect(shown.output).toContain(`secrets: ${sizes.secrets}, values opened: ${2 * sizes.secrets}\n`);
  expect(shown.output).toContain("The recovery works");
  const single = await keepKey(["drill", ...argumentsOf(1)], onCopy);
  expect([single.code, single.output]).toEqual([1, ""]);
  expect(single.errors).toContain("1 of 3 shares was given, but 2 are needed");
  expect(await dump(copy.url)).toBe(before);
  for (const { output, errors } of [...runs, shown, single])
    expect(output + errors).not.toMatch(/value to recover|earlier value|[A-Za-z0-9+/]{43}=/u);

  const recovered = join(folder.path, "key");
  const recovery = await keepKey(["recover", "--output", recovered, ...argumentsOf(1, 2)]);
  expect(recovery).toEqual({ code: 0, output: "", errors: "" });
  const settings = { encryptionKeyCommand: `cat ${recovered}` };
  await using fresh = await startUnlimitedKeep({ databaseUrl: copy.url, settings });
  for (const [path, value] of values) {
    const address = `/api/secrets/vaults/${vault.person.vaultId}/values/by-path${path}`;
    const read = await fresh.request(address, { token: vault.token.text });
    expect(await read.json()).toMatchObject({ value });
  }
  await expectFindsDamage(copy.url, keep.key);
  recordFigure({
    claim: "client 9",
    text: `${values.size} of ${sizes.secrets} values read by a node on a copy with the key of 2 of 3 shares; the drill opened ${2 * sizes.secrets} versions and changed nothing`,
    counted: { reached: values.size, needed: sizes.secrets },
  });
});

test("a database that was never migrated is refused, and stays empty", async () => {
  await using database = await acquireDatabase(empty);
  await expect(openDatabase({ url: database.url, isReadOnly: true })).rejects.toMatchObject({
    failure: { kind: "database-older", found: 0 },
  });
});

// CI compiles no age; there, a file that it sealed is opened in `recover-keys.test.ts`.
test.each(ageFolder === undefined ? [] : [ageFolder])(
  "age in %s opens what Keep seals, and Keep what age seals",
  {
    timeout: 120_000,
  },
  async (programs) => {
    await using folder = await makeTemporaryFolder("age");
    await using keep = await startUnlimitedKeep();
    const { key, databaseUrl } = keep;
    const [identity, sealed, other] = ["identity", "sealed", "other"].map((name) => join(folder.path, name));
    if (identity === undefined || sealed === undefined || other === undefined) throw new Error("No paths");
    await run(join(programs, "age-keygen"), ["-pq", "-o", identity]);
    const recipient = (await run(join(programs, "age-keygen"), ["-y", identity])).stdout.trim();
    const environment = { KEEP_DATABASE_URL: databaseUrl, KEEP_ENCRYPTION_KEY: key };
    expect(await keepKey(["seal", "--to", recipient, "--output", sealed], environment)).toMatchObject({
      code: 0,
    });
    expect((await run(join(programs, "age"), ["-d", "-i", identity, sealed])).stdout).toBe(`${key}\n`);
    const shareArgs = ["seal", "--to", recipient, "--output", sealed, "--shares", "2", "--threshold", "2"];
    expect(await keepKey(shareArgs, environment)).toMatchObject({ code: 0 });
    const share = (await run(join(programs, "age"), ["-d", "-i", identity, `${sealed}.1`])).stdout;
    expect(JSON.parse(share)).toMatchObject({ type: "keep-recovery-share", shares: 2, threshold: 2 });
    for (const format of [["-a"], []]) {
      await writeFile(`${other}.plain`, `${key}\n`);
      await run(join(programs, "age"), [...format, "-r", recipient, "-o", other, `${other}.plain`]);
      expect(await keepKey(["recover", "--identity", identity, other])).toMatchObject({
        code: 0,
        output: `${key}\n`,
      });
    }
    expect(await readFile(sealed, "utf8")).toContain("BEGIN AGE ENCRYPTED FILE");
    recordFigure({
      claim: "client 9",
      text: "age opened a file and a share of Keep, and Keep two files of age",
    });
  },
);
