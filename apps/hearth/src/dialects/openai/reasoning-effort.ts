/** Templates know three efforts; the others are the nearest of them. */
const known: ReadonlyMap<string, "low" | "medium" | "high"> = new Map([
  ["minimal", "low"],
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
  ["xhigh", "high"],
  ["max", "high"],
]);

/** Undefined for a word that is no effort. */
export function nearestEffort(word: string): "low" | "medium" | "high" | undefined {
  return known.get(word);
}
