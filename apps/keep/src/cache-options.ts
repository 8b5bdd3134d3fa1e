/**
 * Options for an LRU cache of at most this many entries. With `max` the cache would allocate all of its slots up front,
 * more memory than the rest of an idle server; with a size of 1 per entry it grows as it fills.
 */
export function maxEntries(entries: number): {
  readonly maxSize: number;
  readonly sizeCalculation: () => number;
} {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
