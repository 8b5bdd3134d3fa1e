/**
 * For a cache of at most so many entries. Told the most alone, it would take memory for all of them at once, which is
 * more than the rest of an idle server; so each counts as one, and it grows as it fills.
 */
export function atMost(entries: number): {
  readonly maxSize: number;
  readonly sizeCalculation: () => number;
} {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
