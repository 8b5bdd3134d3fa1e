import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { explainFileError } from "@hearth-and-keep/failures";
import { requestFailure } from "../../../failures.ts";
import { syncFolder } from "../../../models/store/commit-file.ts";
import type { OwnedRecord, RecordSeal } from "./record-seal.ts";

const suffix = ".sealed";
const temporarySuffix = ".part";
const recordFile = /^[0-9a-f]{64}\.sealed$/u;

export type LoadOptions = {
  /** Larger files are deleted unread: the store would evict them at once. */
  readonly maxBytes: number;
  /** Files that were not used for longer are deleted, even if they cannot be opened. */
  readonly idleSeconds: number;
  /** Receives the names of files that are skipped: damaged ones, and those of other programs. */
  readonly onSkip: (fileName: string) => void;
};

export type LoadedRecord = OwnedRecord & { readonly idleMilliseconds: number };

type FoundFile = { readonly fileName: string; readonly bytes: number; readonly idleMilliseconds: number };

/**
 * One sealed file per record. Changes are queued at once and written in batches, one batch at a time: `flush` resolves
 * when the changes so far have reached the disk. A file is replaced by a rename, so a crash leaves the old or the new one.
 */
export class ResponseFiles {
  readonly #folder: string;
  readonly #seal: RecordSeal;
  /** By file name; undefined deletes the file. */
  #queued = new Map<string, OwnedRecord | undefined>();
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(folder: string, seal: RecordSeal) {
    this.#folder = folder;
    this.#seal = seal;
  }

  write(owned: OwnedRecord): void {
    this.#queued.set(this.#nameOf(owned.keyName, owned.record.id), owned);
  }

  delete(keyName: string, id: string): void {
    this.#queued.set(this.#nameOf(keyName, id), undefined);
  }

  /** Records the use in the time of the file. If that fails, the record only seems to be idle for longer. */
  touch(keyName: string, id: string): void {
    const now = new Date();
    void utimes(join(this.#folder, this.#nameOf(keyName, id)), now, now).catch(() => undefined);
  }

  /** Changes that cannot be written stay queued, so that the next flush writes them. */
  flush(): Promise<void> {
    if (this.#next === undefined) {
      this.#next = this.#writeNext();
      this.#running = this.#next;
    }
    return this.#next;
  }

  /** The records of an earlier process, the least recently used first. */
  async *load(options: LoadOptions): AsyncGenerator<LoadedRecord> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    for (const { fileName, bytes, idleMilliseconds } of await this.#list(options)) {
      if (bytes > options.maxBytes || idleMilliseconds >= options.idleSeconds * 1000) {
        this.#queued.set(fileName, undefined);
        continue;
      }
      const owned = await this.#read(fileName);
      if (owned === undefined) options.onSkip(fileName);
      else yield { ...owned, idleMilliseconds };
    }
  }

  #nameOf(keyName: string, id: string): string {
    return this.#seal.nameOf(keyName, id) + suffix;
  }

  async #writeNext(): Promise<void> {
    await this.#running.catch(() => undefined);
    const changes = this.#queued;
    this.#queued = new Map();
    // From here on a change belongs to the next batch.
    this.#next = undefined;
    if (changes.size === 0) return;
    try {
      await this.#apply(changes);
    } catch (error) {
      // A later change of the same file takes precedence.
      this.#queued = new Map([...changes, ...this.#queued]);
      const reason = explainFileError(error);
      if (reason === undefined) throw error;
      throw requestFailure({ kind: "response-not-stored", reason }, { cause: error });
    }
  }

  async #apply(changes: ReadonlyMap<string, OwnedRecord | undefined>): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const deleted = [...changes].filter(([, owned]) => owned === undefined);
    // First, because the files to write may need their space.
    await settleAll(deleted.map(([fileName]) => rm(join(this.#folder, fileName), { force: true })));
    await settleAll(
      [...changes].map(async ([fileName, owned]) => {
        if (owned !== undefined) await this.#replace(fileName, this.#seal.seal(owned));
      }),
    );
    await syncFolder(this.#folder);
  }

  async #replace(fileName: string, content: Uint8Array): Promise<void> {
    const temporary = join(this.#folder, `${fileName}.${randomUUID()}${temporarySuffix}`);
    try {
      await writeDurably(temporary, content);
      await rename(temporary, join(this.#folder, fileName));
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  async #list({ onSkip }: LoadOptions): Promise<readonly FoundFile[]> {
    const found: FoundFile[] = [];
    const now = Date.now();
    for (const entry of await readdir(this.#folder, { withFileTypes: true })) {
      const fileName = entry.name;
      const path = join(this.#folder, fileName);
      if (entry.isFile() && fileName.endsWith(temporarySuffix)) await rm(path, { force: true });
      else if (entry.isFile() && recordFile.test(fileName)) {
        const { size, mtimeMs } = await stat(path);
        found.push({ fileName, bytes: size, idleMilliseconds: Math.max(0, now - mtimeMs) });
      } else onSkip(fileName);
    }
    return found.toSorted((first, second) => second.idleMilliseconds - first.idleMilliseconds);
  }

  async #read(fileName: string): Promise<OwnedRecord | undefined> {
    // A bad sector costs one record, not all of them.
    const sealed = await readFile(join(this.#folder, fileName)).catch(() => undefined);
    return sealed === undefined ? undefined : this.#seal.open(fileName.slice(0, -suffix.length), sealed);
  }
}

/** Rejects only when all have ended, so that no write of a failed batch overtakes one of the next. */
async function settleAll(works: readonly Promise<void>[]): Promise<void> {
  const settled = await Promise.allSettled(works);
  const failed = settled.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}

async function writeDurably(path: string, content: Uint8Array): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(content);
  await file.sync();
}
