import { execFile } from "node:child_process";
import { copyFile, readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { FailureError } from "@hearth-and-keep/failures";
import { recordFigure } from "@hearth-and-keep/figures";
import { Hidden } from "@hearth-and-keep/logging";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { explainFailure, type StartFailure } from "../../failures.ts";
import { type OpenedVault, openVault, startUnlimitedKeep } from "../../test/open-vault.ts";
import { startTestKeep, type TestKeep } from "../../test/start-test-keep.ts";
import { generateKeyText, readKeys } from "../key-encryption-key.ts";
import type { Custodian, SealedKey } from "./test/custodian.ts";
import { custodianStarters, missingPrograms } from "./test/start-custodians.ts";
import { waitUntilUnused } from "./test/wait-until-unused.ts";

/** Each situation of each custodian that was shown. */
const shown: string[] = [];
const fingerprintOf = (key: string): string => readKeys(new Hidden(key)).fingerprint;

type KeySettings = Readonly<Record<string, string>>;

const keyFrom = (first: SealedKey, second?: SealedKey): KeySettings => ({
  encryptionKeyCommand: first.command,
  ...(second === undefined ? {} : { secondEncryptionKeyCommand: second.command }),
});

/** The sentence and the exit code of a start that must fail. */
async function failedStart(databaseUrl: string, settings: KeySettings): Promise<readonly [string, number]> {
  const error: unknown = await startTestKeep({ databaseUrl, settings }).then(
    async (keep) => {
      await keep[Symbol.asyncDispose]();
      return new Error("it started");
    },
    (reason: unknown) => reason,
  );
  if (!(error instanceof FailureError)) throw error;
  // A start fails only with failures of the start.
  const { messages, exitCode } = explainFailure(error.failure as StartFailure);
  expect(messages).toHaveLength(1);
  expect(messages[0]).toMatch(/^Cannot start: [^\n]{20,600}$/u);
  return [messages[0] ?? "", exitCode];
}

/** Whether a started node reads what was written before, and writes. */
async function expectServes(keep: TestKeep, { person, token }: OpenedVault): Promise<void> {
  const path = `/api/secrets/vaults/${person.vaultId}`;
  const read = await keep.request(`${path}/values/by-path/KEPT`, { token: token.text });
  expect([read.status, await read.json()]).toMatchObject([200, { value: "kept" }]);
  const put = { method: "PUT", token: token.text, body: { value: "written" } };
  const { status } = await keep.request(`${path}/secrets/by-path/MORE`, put);
  expect([200, 201]).toContain(status);
}

async function expectStarts(databaseUrl: string, settings: KeySettings, vault: OpenedVault): Promise<void> {
  await using keep = await startUnlimitedKeep({ databaseUrl, settings });
  await expectServes(keep, vault);
}

async function readTree(folder: string): Promise<readonly Buffer[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name))));
}

/** Files of the custodian and a dump of the database. */
async function expectNoKeyAtRest(
  keys: readonly string[],
  folder: string,
  databaseUrl: string,
): Promise<void> {
  const { stdout } = await promisify(execFile)("pg_dump", ["--dbname", databaseUrl], { maxBuffer: 1 << 28 });
  const stored = [Buffer.from(stdout), ...(await readTree(folder))];
  expect(stored.length).toBeGreaterThan(1);
  for (const key of keys) {
    const bytes = Buffer.from(key, "base64");
    for (const form of [key, bytes, bytes.toString("hex")])
      expect(stored.some((content) => content.includes(form))).toBe(false);
  }
}

describe.each(custodianStarters)("$name", ({ name, start }) => {
  const key = generateKeyText();
  const other = generateKeyText();
  let custodian: Custodian;
  let sealed: SealedKey;
  let sealedOther: SealedKey;
  let keep: TestKeep;
  let vault: OpenedVault;
  const owned = new AsyncDisposableStack();
  beforeAll(async () => {
    custodian = owned.use(await start());
    sealed = await custodian.seal(key, "key");
    sealedOther = await custodian.seal(other, "other");
    keep = owned.use(await startUnlimitedKeep({ settings: keyFrom(sealed) }));
    vault = owned.use(await openVault(keep));
    await vault.write("/KEPT", "kept");
  }, 900_000);
  afterAll(() => owned.disposeAsync());

  test.each(["away", "permission lost"] as const)(
    "%s: a running node goes on, a starting one says what is wrong",
    { timeout: 120_000 },
    async (fault) => {
      const { databaseUrl } = keep;
      const giveBack = await custodian.faults[fault]();
      try {
        await expectServes(keep, vault);
        const [message, code] = await failedStart(databaseUrl, keyFrom(sealed));
        expect(message).toContain("no encryption key from --encryption-key-command");
        expect(code).toBe(3);
        await expectServes(keep, vault);
      } finally {
        await giveBack();
      }
      await expectStarts(databaseUrl, keyFrom(sealed), vault);
      shown.push(`${name}: ${fault} at start`, `${name}: ${fault} while running`);
    },
  );

  test("another sealed key in its file, or its name in the settings, is refused by its fingerprint", {
    timeout: 120_000,
  }, async () => {
    const { databaseUrl } = keep;
    const refusal = `has fingerprint ${fingerprintOf(other)}, but this database was encrypted with ${fingerprintOf(key)}`;
    expect(await failedStart(databaseUrl, keyFrom(sealedOther))).toEqual([
      expect.stringContaining(refusal),
      4,
    ]);
    await copyFile(sealed.file, `${sealed.file}.own`);
    await copyFile(sealedOther.file, sealed.file);
    expect(await failedStart(databaseUrl, keyFrom(sealed))).toEqual([expect.stringContaining(refusal), 4]);
    await rename(`${sealed.file}.own`, sealed.file);
    await expectStarts(databaseUrl, keyFrom(sealed), vault);
    shown.push(`${name}: wrong key`, `${name}: swapped blob`);
  });

  test("a rotation needs the pinned fingerprint of the new key, keeps every value, and leaves no key at rest", {
    timeout: 120_000,
  }, async () => {
    const { databaseUrl } = keep;
    const both = keyFrom(sealedOther, sealed);
    const [message, code] = await failedStart(databaseUrl, both);
    expect(message).toContain(`fingerprint ${fingerprintOf(other)}, which is new to this database`);
    expect(code).toBe(4);
    {
      const settings = { ...both, encryptionKeyFingerprint: fingerprintOf(other) };
      await using rotating = await startUnlimitedKeep({ databaseUrl, settings });
      await waitUntilUnused(databaseUrl, fingerprintOf(other));
      await expectServes(rotating, vault);
    }
    await expectStarts(databaseUrl, keyFrom(sealedOther), vault);
    expect((await failedStart(databaseUrl, keyFrom(sealed)))[1]).toBe(4);
    await expectNoKeyAtRest([key, other], custodian.folder, databaseUrl);
    shown.push(`${name}: start`, `${name}: rotation`, `${name}: nothing at rest`);
  });
});

test("every custodian was shown in every situation", () => {
  const situations = 9;
  expect(shown).toHaveLength(custodianStarters.length * situations);
  const names = custodianStarters.map(({ name }) => name).join(", ");
  const left = missingPrograms.length === 0 ? "" : `; not given: ${missingPrograms.join(", ")}`;
  recordFigure({
    claim: "client 8",
    text: `${shown.length} situations with ${custodianStarters.length} custodians (${names})${left}`,
    counted: { reached: shown.length, needed: custodianStarters.length * situations },
  });
});
