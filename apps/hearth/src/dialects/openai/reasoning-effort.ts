/** Chat templates know three levels; the others map to the nearest. */
const templateEfforts: ReadonlyMap<string, "low" | "medium" | "high"> = new Map([
  ["minimal", "low"],
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
  ["xhigh", "high"],
  ["max", "high"],
]);

/** Undefined if the value is not an effort level. */
export function nearestEffort(effort: string): "low" | "medium" | "high" | undefined {
  return templateEfforts.get(effort);
}
