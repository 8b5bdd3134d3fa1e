/**
 * @module
 * Custodians of the key for tests: real programs and services, each with its faults. Those of this file are on every machine.
 * Imported by tests of custody and recovery.
 */
import { execFile } from "node:child_process";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { childEnvironment, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { generateHybridIdentity, identityToRecipient } from "age-encryption";
import { sealFile } from "../../recovery/age-file.ts";
import type { Custodian, Fault } from "./custodian.ts";

const run = promisify(execFile);
const openAgeFile = fileURLToPath(new URL("../fixtures/open-age-file.ts", import.meta.url));
const keep = fileURLToPath(new URL("../../../../bin/keep.js", import.meta.url));

/** Runs a program of a custodian; throws when it fails. */
export async function runProgram(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const env = { ...childEnvironment(), ...environment };
  return (await run(program, [...args], { env, timeout: 120_000 })).stdout;
}

/** Writes a key for a program that seals a file, and deletes it again. */
export async function withPlainFile(
  key: Buffer,
  seal: (plainFile: string) => Promise<unknown>,
): Promise<void> {
  await using folder = await makeTemporaryFolder("plain");
  const plainFile = join(folder.path, "key");
  await writeFile(plainFile, key);
  await seal(plainFile);
}

/** Renames a file or folder, as if what it is on were not mounted. */
export function moveAway(path: string): Fault {
  return async () => {
    await rename(path, `${path}.away`);
    return () => rename(`${path}.away`, path);
  };
}

/** Replaces what a program needs to be allowed. */
export function replaceFile(path: string, content: string): Fault {
  return async () => {
    const giveBack = await moveAway(path)();
    await writeFile(path, content);
    return giveBack;
  };
}

/** A file that is encrypted with a password. */
export async function startOpenSsl(): Promise<Custodian> {
  const folder = await makeTemporaryFolder("openssl");
  const password = join(folder.path, "password");
  await writeFile(password, "a long password\n");
  const args = ["enc", "-aes-256-cbc", "-pbkdf2", "-pass", `file:${password}`];
  return {
    folder: folder.path,
    async seal(key, name) {
      const file = join(folder.path, name);
      await withPlainFile(Buffer.from(key), (plain) =>
        runProgram("openssl", [...args, "-in", plain, "-out", file]),
      );
      return { file, command: `openssl ${args.join(" ")} -d -in ${file}` };
    },
    faults: { away: moveAway(password), "permission lost": replaceFile(password, "another password\n") },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** A file for a hybrid recipient, opened by a program of a few lines. */
export function startAgeLibrary(): Promise<Custodian> {
  return startAgeFile((identity, file) => `${process.execPath} ${openAgeFile} ${identity} ${file}`);
}

/** The same file, opened by Keep itself. */
export function startAgeInKeep(): Promise<Custodian> {
  return startAgeFile(
    (identity, file) => `${process.execPath} ${keep} key recover --identity ${identity} ${file}`,
  );
}

async function startAgeFile(commandFor: (identity: string, file: string) => string): Promise<Custodian> {
  const folder = await makeTemporaryFolder("age-library");
  const identityFile = join(folder.path, "identity");
  const identity = await generateHybridIdentity();
  await writeFile(identityFile, `${identity}\n`);
  const recipient = await identityToRecipient(identity);
  return {
    folder: folder.path,
    async seal(key, name) {
      const file = join(folder.path, name);
      await writeFile(file, await sealFile(Buffer.from(`${key}\n`), [recipient]));
      return { file, command: commandFor(identityFile, file) };
    },
    faults: {
      away: moveAway(identityFile),
      "permission lost": replaceFile(identityFile, `${await generateHybridIdentity()}\n`),
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}
