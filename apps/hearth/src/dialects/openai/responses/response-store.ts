import type { LoadedRecord, ResponseFiles } from "./response-files.ts";
import type { KeyRecords, StoredItem, StoredRecord } from "./stored-record.ts";

/** The flag that sets how many responses are stored, named in errors. */
export const storedResponsesFlag = "--max-stored-responses";

export type StoreLimits = {
  /** Responses and conversations per API key. */
  readonly maxResponses: number;
  /** Per API key. */
  readonly maxBytes: number;
  /** Of all keys together. */
  readonly maxTotalBytes: number;
  /** A record is deleted when it has not been used for this long. */
  readonly idleSeconds: number;
};

/** What an entry of a map and its objects occupy beside their text, estimated generously. */
const recordOverheadBytes = 1024;
const itemOverheadBytes = 512;

/** A file's time is updated at most this often, or a 24th of the idle time. */
const maxTouchSeconds = 3600;

type Entry = {
  readonly record: StoredRecord;
  readonly bytes: number;
  usedAt: number;
  /** The last use that the file of the record knows of. */
  touchedAt: number;
};
type OwnedItem = { readonly item: StoredItem; readonly recordId: string };

export type StoreOptions = {
  /** In milliseconds, from any origin. */
  readonly now?: () => number;
  readonly files?: ResponseFiles;
  /** Seals what clients keep themselves, so that it is understood after a restart too. */
  readonly sealKey?: Uint8Array;
};

/** Entries are in the order of their last use. */
type Partition = {
  readonly entries: Map<string, Entry>;
  readonly items: Map<string, OwnedItem>;
  bytes: number;
};

/**
 * Responses and conversations that clients continue by id. Each API key has a partition of its own and reads only that.
 * The least recently used record is evicted first: of the key that exceeds its share, or of the largest partition when
 * all keys together exceed the total, so that a key within its fair share loses nothing to others.
 * Everything is in memory. With files, every change is also written to them, so that the next process restores the same
 * records; without, everything is lost when the process exits.
 */
export class ResponseStore {
  readonly #limits: StoreLimits;
  readonly #now: () => number;
  readonly #files: ResponseFiles | undefined;
  readonly sealKey: Uint8Array | undefined;
  readonly #partitions = new Map<string, Partition>();
  #bytes = 0;

  constructor(limits: StoreLimits, { now = () => performance.now(), files, sealKey }: StoreOptions = {}) {
    this.#limits = limits;
    this.#now = now;
    this.#files = files;
    this.sealKey = sealKey;
  }

  /** Memory in use, of all keys. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The records of one key; there is no way to reach those of another. */
  forKey(keyName: string): KeyRecords {
    return {
      find: (id) => this.#find(keyName, id)?.record,
      findItem: (id) => this.#findItem(keyName, id),
      save: (record) => this.#save(keyName, record),
      delete: (id) => this.#delete(keyName, id),
      flush: async () => this.#files?.flush(),
    };
  }

  /** Adds a record of an earlier process; records are restored in the order of their last use. */
  restore({ keyName, record, idleMilliseconds }: LoadedRecord): void {
    const bytes = sizeOf(record);
    if (this.#isTooLarge(bytes)) this.#files?.delete(keyName, record.id);
    else this.#insert(keyName, { record, bytes, usedAt: this.#now() - idleMilliseconds });
  }

  /** Deletes what was not used for the idle time, also of keys that send no requests. */
  async deleteIdle(): Promise<void> {
    for (const name of this.#partitions.keys()) this.#deleteIdle(name);
    await this.#files?.flush();
  }

  /** Moves the entry to the end of the order of eviction. */
  #find(keyName: string, id: string): Entry | undefined {
    this.#deleteIdle(keyName);
    const partition = this.#partitions.get(keyName);
    const entry = partition?.entries.get(id);
    if (partition === undefined || entry === undefined) return undefined;
    entry.usedAt = this.#now();
    partition.entries.delete(id);
    partition.entries.set(id, entry);
    this.#touch(keyName, entry);
    return entry;
  }

  #findItem(keyName: string, id: string): StoredItem | undefined {
    const owned = this.#partitions.get(keyName)?.items.get(id);
    if (owned === undefined) return undefined;
    return this.#find(keyName, owned.recordId) === undefined ? undefined : owned.item;
  }

  #touch(keyName: string, entry: Entry): void {
    const seconds = Math.min(maxTouchSeconds, this.#limits.idleSeconds / 24);
    if (this.#files === undefined || entry.usedAt - entry.touchedAt < seconds * 1000) return;
    entry.touchedAt = entry.usedAt;
    this.#files.touch(keyName, entry.record.id);
  }

  #save(keyName: string, record: StoredRecord): boolean {
    const bytes = sizeOf(record);
    if (this.#isTooLarge(bytes)) return false;
    this.#delete(keyName, record.id);
    this.#files?.write({ keyName, record });
    this.#insert(keyName, { record, bytes, usedAt: this.#now() });
    return true;
  }

  #isTooLarge(bytes: number): boolean {
    return bytes > Math.min(this.#limits.maxBytes, this.#limits.maxTotalBytes);
  }

  #insert(keyName: string, { record, bytes, usedAt }: Omit<Entry, "touchedAt">): void {
    const partition = this.#partitions.get(keyName) ?? { entries: new Map(), items: new Map(), bytes: 0 };
    this.#partitions.set(keyName, partition);
    partition.entries.set(record.id, { record, bytes, usedAt, touchedAt: usedAt });
    for (const item of [...record.input, ...record.output]) {
      if (item.isReference !== true) partition.items.set(item.id, { item, recordId: record.id });
    }
    partition.bytes += bytes;
    this.#bytes += bytes;
    this.#evict(keyName, partition);
  }

  #delete(keyName: string, id: string): boolean {
    const partition = this.#partitions.get(keyName);
    const entry = partition?.entries.get(id);
    if (partition === undefined || entry === undefined) return false;
    this.#files?.delete(keyName, id);
    partition.entries.delete(id);
    partition.bytes -= entry.bytes;
    this.#bytes -= entry.bytes;
    for (const item of [...entry.record.input, ...entry.record.output]) {
      // A later record may contain the same item.
      if (partition.items.get(item.id)?.recordId === id) partition.items.delete(item.id);
    }
    if (partition.entries.size === 0) this.#partitions.delete(keyName);
    return true;
  }

  #evict(keyName: string, partition: Partition): void {
    for (const name of this.#partitions.keys()) this.#deleteIdle(name);
    const { maxResponses, maxBytes, maxTotalBytes } = this.#limits;
    while (partition.entries.size > maxResponses || partition.bytes > maxBytes) {
      this.#deleteOldest(keyName, partition);
    }
    while (this.#bytes > maxTotalBytes) {
      const [largest] = [...this.#partitions].toSorted(([, first], [, second]) => second.bytes - first.bytes);
      if (largest === undefined) return;
      this.#deleteOldest(...largest);
    }
  }

  #deleteOldest(keyName: string, { entries }: Partition): void {
    const [oldest] = entries.keys();
    if (oldest !== undefined) this.#delete(keyName, oldest);
  }

  #deleteIdle(keyName: string): void {
    const before = this.#now() - this.#limits.idleSeconds * 1000;
    for (const [id, { usedAt }] of this.#partitions.get(keyName)?.entries ?? []) {
      if (usedAt > before) return;
      this.#delete(keyName, id);
    }
  }
}

function sizeOf({ id, head, input, output }: StoredRecord): number {
  const items = [...input, ...output];
  return items.reduce(
    (sum, item) => sum + sizeOfText(item.text) + sizeOfText(item.id) + itemOverheadBytes,
    recordOverheadBytes + sizeOfText(id) + sizeOfText(head),
  );
}

/** V8 stores a text with one byte per character if all of them are in Latin-1, and with two otherwise. */
function sizeOfText(text: string): number {
  return /[\u0100-\u{10ffff}]/u.test(text) ? 2 * text.length : text.length;
}
