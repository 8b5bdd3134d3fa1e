/**
 * @module
 * `hearth launch`: the model of an agent, its settings files, and the program itself in the user's terminal.
 * Guarantees that only Hearth's entries of a settings file change, that a backup of the file exists before, that
 * `--remove` gives back the same bytes, and that the API key is passed in the environment alone.
 * Imported by `commands/launch.ts` only.
 */
import { createHash, randomUUID } from "node:crypto";
import { copyFile, mkdir, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { explainFileError } from "@hearth-and-keep/failures";
import { pathOf, type SettingsFile, toObject } from "@hearth-and-keep/hearth-contract";
import { appPaths } from "../../server-client/app-paths.ts";
import { callFailure } from "../../server-client/call-failure.ts";
import { userFolder } from "./config.ts";
import {
  isEmptyObject,
  JsonSyntaxError,
  readJsonText,
  removeJsonProperty,
  restoreJsonText,
  setJsonValue,
} from "./edit-json.ts";
import { readRecord, type WrittenFile, writeRecord } from "./launch-record.ts";

export type Removal = {
  readonly path: string;
  readonly outcome: "restored" | "removed" | "cleaned" | "kept";
};

const maxFileBytes = 4 * 1024 * 1024;
const privateFile = 0o600;

/** Where the file is on this machine. */
export function resolvePath({ folder, folderVariable, name }: SettingsFile): string {
  return join(userFolder(folder, folderVariable), name);
}

/** Writes the files whose settings differ, and returns their paths as documented by the program. */
export async function writeSettings(
  program: string,
  files: readonly SettingsFile[],
): Promise<readonly string[]> {
  const recordFile = join(appPaths().launches, `${program}.json`);
  const record = await readRecord(recordFile);
  const written: string[] = [];
  for (const file of files) {
    await explainErrors(pathOf(file), async () => {
      const entry = await writeFileOf(file, record.get(resolvePath(file)));
      if (entry === undefined) return;
      record.set(resolvePath(file), entry);
      // Before the next file, so that a failure there leaves nothing that cannot be removed.
      await writeRecord(recordFile, record);
      written.push(pathOf(file));
    });
  }
  return written;
}

/** Undoes everything that `writeSettings` wrote for the program. */
export async function removeSettings(program: string): Promise<readonly Removal[]> {
  const recordFile = join(appPaths().launches, `${program}.json`);
  const removals: Removal[] = [];
  for (const [path, written] of await readRecord(recordFile)) {
    await explainErrors(path, async () => {
      removals.push({ path, outcome: await removeFileOf(path, written) });
    });
  }
  await rm(recordFile, { force: true });
  return removals;
}

async function writeFileOf(
  file: SettingsFile,
  earlier: WrittenFile | undefined,
): Promise<WrittenFile | undefined> {
  const path = resolvePath(file);
  const current = await readText(path);
  const text = applySettings(file, current);
  if (text === current) return undefined;
  const isOurs = earlier !== undefined && current !== undefined && hashOf(current) === earlier.hash;
  const backup = backupOf(path);
  const hasBackup = (await readText(backup)) !== undefined;
  if (current !== undefined && !isOurs && !hasBackup) await copyFile(path, backup);
  await writeAtomically(path, text);
  return {
    hash: hashOf(text),
    hadFile: isOurs ? earlier.hadFile : current !== undefined || hasBackup,
    // Otherwise the backup lacks what the user has changed since.
    isPristine: isOurs ? earlier.isPristine : !hasBackup,
    keys: file.kind === "text" ? undefined : file.entries.map(({ keys }) => keys),
  };
}

function applySettings(file: SettingsFile, current: string | undefined): string {
  if (file.kind === "text") return file.text;
  if (current === undefined || current.trim() === "") {
    return `${JSON.stringify(toObject(file.entries), null, 2)}\n`;
  }
  return file.entries.reduce(
    (text, { keys, value, isDefault = false }) =>
      isDefault && readJsonText(text, keys) !== undefined ? text : setJsonValue(text, keys, value),
    current,
  );
}

async function removeFileOf(path: string, written: WrittenFile): Promise<Removal["outcome"]> {
  const current = await readText(path);
  const backup = backupOf(path);
  const original = written.hadFile ? await readText(backup) : undefined;
  if (current === undefined) {
    await rm(backup, { force: true });
    return "removed";
  }
  const isUnchanged = hashOf(current) === written.hash && written.isPristine;
  if (!isUnchanged && written.keys === undefined) return "kept";
  if (isUnchanged && original === undefined) await rm(path);
  else if (isUnchanged && original !== undefined) await writeAtomically(path, await readFile(backup));
  else await writeAtomically(path, removeEntries(current, written.keys ?? [], original ?? "{}"));
  await rm(backup, { force: true });
  if (!isUnchanged) return "cleaned";
  return original === undefined ? "removed" : "restored";
}

/** Puts back the values of the original, and removes entries and objects that it does not have. */
function removeEntries(current: string, entries: readonly (readonly string[])[], original: string): string {
  let text = current;
  for (const keys of entries) {
    const before = readJsonText(original, keys);
    text = before === undefined ? removeJsonProperty(text, keys) : restoreJsonText(text, keys, before);
    for (let length = keys.length - 1; length > 0; length -= 1) {
      const outer = keys.slice(0, length);
      const isLeftOver = isEmptyObject(readJsonText(text, outer) ?? "");
      if (isLeftOver && readJsonText(original, outer) === undefined) text = removeJsonProperty(text, outer);
    }
  }
  return text;
}

function backupOf(path: string): string {
  return `${path}.before-hearth`;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function readText(path: string): Promise<string | undefined> {
  const size = await stat(path).then(
    (found) => found.size,
    () => undefined,
  );
  if (size === undefined) return undefined;
  if (size > maxFileBytes) throw new JsonSyntaxError();
  return readFile(path, "utf8");
}

/** Users keep settings in repositories and link to them; the link stays. */
async function followLink(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

async function writeAtomically(path: string, content: string | Buffer): Promise<void> {
  const target = await followLink(path);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  const mode = await stat(target).then(
    (found) => found.mode & 0o777,
    () => privateFile,
  );
  const temporary = `${target}.${randomUUID()}`;
  try {
    await using file = await open(temporary, "wx", mode);
    await file.writeFile(content);
    await file.sync();
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function explainErrors(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const reason = error instanceof JsonSyntaxError ? "it is not valid JSON" : explainFileError(error);
    if (reason === undefined) throw error;
    const message = `Cannot change ${path}: ${reason}`;
    const next = "correct the file, or change it by hand; --print shows the settings";
    throw callFailure({ kind: "usage-error", message, next }, { cause: error });
  }
}
