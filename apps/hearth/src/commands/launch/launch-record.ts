import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** What was written to a settings file. */
export type WrittenFile = {
  /** SHA-256 of the whole file. */
  readonly hash: string;
  /** Whether the file existed before, so that a backup of it exists. */
  readonly hadFile: boolean;
  /** Whether the file differs from its backup by our settings alone. */
  readonly isPristine: boolean;
  /** The entries that were set; undefined for a file that is entirely ours. */
  readonly keys: readonly (readonly string[])[] | undefined;
};

const maxFiles = 16;

/** By path. A missing or unreadable record is empty: then there is nothing that can be undone safely. */
export async function readRecord(file: string): Promise<Map<string, WrittenFile>> {
  try {
    const parsed: unknown = JSON.parse(await readFile(file, "utf8"));
    const entries = Array.isArray(parsed) ? parsed.slice(0, maxFiles) : [];
    return new Map(entries.filter(isEntry));
  } catch {
    return new Map();
  }
}

export async function writeRecord(file: string, record: ReadonlyMap<string, WrittenFile>): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomUUID()}`;
  await writeFile(temporary, JSON.stringify([...record]), { mode: 0o600 });
  await rename(temporary, file);
}

function isEntry(entry: unknown): entry is [path: string, written: WrittenFile] {
  if (!Array.isArray(entry) || typeof entry[0] !== "string") return false;
  const written: unknown = entry[1];
  if (typeof written !== "object" || written === null) return false;
  const { hash, hadFile, isPristine, keys } = written as Partial<Record<keyof WrittenFile, unknown>>; // Checked below.
  return (
    typeof hash === "string" &&
    typeof hadFile === "boolean" &&
    typeof isPristine === "boolean" &&
    (keys === undefined || (Array.isArray(keys) && keys.every(isPath)))
  );
}

function isPath(path: unknown): boolean {
  return Array.isArray(path) && path.every((key) => typeof key === "string");
}
