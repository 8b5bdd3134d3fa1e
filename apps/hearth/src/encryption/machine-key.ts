import { hkdfSync, randomBytes, randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { explainFileError } from "@hearth-and-keep/failures";
import { syncFolder } from "../models/store/commit-file.ts";
import { keyBytes } from "./authenticated-encryption.ts";

/** Why an existing key file is not used; other errors are those of the file system. */
class MachineKeyError extends Error {
  override readonly name = "MachineKeyError";
}

/** Why a folder that is encrypted with the machine key cannot be used; undefined for any other error. */
export function explainFolderError(error: unknown): string | undefined {
  return error instanceof MachineKeyError ? error.message : explainFileError(error);
}

/** The key of this machine, created at the first use. It is never replaced: without it, stored responses are lost. */
export async function openMachineKey(path: string): Promise<Uint8Array> {
  const key = (await readKey(path)) ?? (await createKey(path));
  if (key.length !== keyBytes) throw new MachineKeyError(`the key file "${path}" is damaged`);
  return key;
}

/** A key for one purpose; nothing about it reveals the others. */
export function deriveKey(machineKey: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", machineKey, "", purpose, keyBytes));
}

async function readKey(path: string): Promise<Uint8Array | undefined> {
  try {
    // Windows has no such permissions.
    const isShared = process.platform !== "win32" && ((await stat(path)).mode & 0o077) !== 0;
    if (isShared) throw new MachineKeyError(`other users can read the key file "${path}"`);
    return await readFile(path);
  } catch (error) {
    if (isFileError(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** The file appears complete or not at all; if two servers start at once, both use the key of the first. */
async function createKey(path: string): Promise<Uint8Array> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomUUID()}`;
  try {
    await writeKey(temporary);
    await link(temporary, path);
  } catch (error) {
    if (!isFileError(error, "EEXIST")) throw error;
  } finally {
    await rm(temporary, { force: true });
  }
  await syncFolder(folder);
  return readFile(path);
}

async function writeKey(path: string): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(randomBytes(keyBytes));
  await file.sync();
}

function isFileError(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
