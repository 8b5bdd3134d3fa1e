import { ConnectionError, UnavailableError } from "./errors.ts";

/** What was read, and what to send to learn whether it changed. */
type Entry<Value> = { readonly value: Value; readonly tag: string | undefined; readonly readAt: number };

/** Undefined when nothing has changed since the tag. */
type Load<Value> = (
  tag: string | undefined,
) => Promise<{ readonly value: Value; readonly tag: string | undefined } | undefined>;

export type ValueCache<Value> = {
  read(key: string, load: Load<Value>): Promise<Value>;
  clear(): void;
};

export type CacheLimits = { readonly maxAgeSeconds: number; readonly staleSeconds: number };

const maxEntries = 100;

/** Entries are used for a maximum age, then only after the server says that they have not changed. */
export function createValueCache<Value>({ maxAgeSeconds, staleSeconds }: CacheLimits): ValueCache<Value> {
  const entries = new Map<string, Entry<Value>>();
  const store = (key: string, entry: Entry<Value>): Value => {
    entries.delete(key);
    entries.set(key, entry);
    const [oldest] = entries.keys();
    if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
    return entry.value;
  };
  return {
    async read(key, load) {
      const known = entries.get(key);
      // A clock that cannot be set back.
      const now = performance.now();
      const age = known === undefined ? Number.POSITIVE_INFINITY : (now - known.readAt) / 1000;
      if (known !== undefined && age < maxAgeSeconds) return known.value;
      try {
        const loaded = await load(known?.tag);
        if (loaded !== undefined) return store(key, { ...loaded, readAt: now });
        if (known !== undefined) return store(key, { ...known, readAt: now });
        throw new ConnectionError("unexpected_response", "The server knows a response that was not sent");
      } catch (error) {
        if (known !== undefined && age < staleSeconds && isOutage(error)) return known.value;
        // Also values that the token may no longer read.
        if (!isOutage(error)) entries.delete(key);
        throw error;
      }
    },
    clear: () => entries.clear(),
  };
}

function isOutage(error: unknown): boolean {
  return (
    error instanceof UnavailableError ||
    (error instanceof ConnectionError && error.code !== "unexpected_response")
  );
}
