import type { KeyStore, StoredKey } from "./key-store.ts";

export type DirectoryOptions = {
  /** Calls back with errors of the database; the last known keys stay in force. */
  readonly onError: (error: unknown) => void;
  readonly pollMilliseconds?: number;
};

/** All keys in memory, at most a fraction of a second old, so that authentication needs no database. */
export type KeyDirectory = AsyncDisposable & {
  /** By the hash of its secret; undefined for one that is revoked or expired. */
  find(sha256: Uint8Array): StoredKey | undefined;
  /** By its id; undefined for one that is revoked or expired. */
  get(id: string): StoredKey | undefined;
  /** Calls back after every change, and when a key expires, within the time of a poll. */
  onChange(listener: () => void): void;
};

const defaultPollMilliseconds = 200;

/** Rejects if the keys cannot be read at the start. */
export async function openKeyDirectory(store: KeyStore, options: DirectoryOptions): Promise<KeyDirectory> {
  const directory = new StoredKeys(store, options);
  await directory.refresh();
  directory.start();
  return directory;
}

class StoredKeys implements KeyDirectory {
  readonly #store: KeyStore;
  readonly #options: DirectoryOptions;
  readonly #listeners: (() => void)[] = [];
  #byHash = new Map<string, StoredKey>();
  #byId = new Map<string, StoredKey>();
  #version = -1;
  #refreshing: Promise<void> | undefined;
  #nextExpiry = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(store: KeyStore, options: DirectoryOptions) {
    this.#store = store;
    this.#options = options;
  }

  find(sha256: Uint8Array): StoredKey | undefined {
    return onlyValid(this.#byHash.get(Buffer.from(sha256).toString("hex")));
  }

  get(id: string): StoredKey | undefined {
    return onlyValid(this.#byId.get(id));
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  start(): void {
    const { pollMilliseconds = defaultPollMilliseconds, onError } = this.#options;
    this.#timer = setInterval(() => this.#poll(), pollMilliseconds).unref();
    void this.#store.listen?.(() => this.#poll()).catch(onError);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#refreshing;
  }

  #poll(): void {
    if (Date.now() >= this.#nextExpiry) this.#notify();
    this.#refreshing ??= this.refresh()
      .catch(this.#options.onError)
      .finally(() => {
        this.#refreshing = undefined;
      });
  }

  async refresh(): Promise<void> {
    const version = await this.#store.version();
    if (version === this.#version) return;
    const keys = await this.#store.list();
    this.#byHash = new Map(keys.map((key) => [key.sha256, key]));
    this.#byId = new Map(keys.map((key) => [key.id, key]));
    this.#version = version;
    this.#notify();
  }

  #notify(): void {
    const now = Date.now();
    const expiries = [...this.#byId.values()].map(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt);
    this.#nextExpiry = Math.min(...expiries.filter((expiry) => expiry > now), Number.POSITIVE_INFINITY);
    for (const listener of this.#listeners) listener();
  }
}

function onlyValid(key: StoredKey | undefined): StoredKey | undefined {
  if (key === undefined || key.revokedAt !== undefined) return undefined;
  return key.expiresAt !== undefined && key.expiresAt <= Date.now() ? undefined : key;
}
