/** More than any limit on entries that our schemas name as the reason of a rejection. */
const maxEntries = 2000;
const maxValues = 10_000;

/**
 * A copy with at most so many values, in the order of the original. Explaining what is wrong with a value takes
 * microseconds for each value inside, and a body can have a hundred thousand.
 */
export function shortenValue(value: unknown): unknown {
  let remaining = maxValues;
  const shorten = (each: unknown): unknown => {
    remaining -= 1;
    if (typeof each !== "object" || each === null) return each;
    if (Array.isArray(each)) return takeWhileRoom(each).map(shorten);
    return Object.fromEntries(
      takeWhileRoom(Object.entries(each)).map(([key, inner]) => [key, shorten(inner)]),
    );
  };
  const takeWhileRoom = <Entry>(entries: readonly Entry[]): readonly Entry[] =>
    entries.slice(0, Math.max(0, Math.min(maxEntries, remaining)));
  return shorten(value);
}
